// A client of the .NET SDK lives on while another one deletes its container, or the database, and makes it again
// with other items on another number of ranges. It has to find exactly those, without an error, in both modes.
// The scenario container-recreated of ../scenarios.md, for the language whose runner does not have it.
//
// Environment: MAYFLY_ENDPOINT (https), MAYFLY_CONTROL, and MAYFLY_MODE, Gateway or Direct. Prints "ok".
using System.Net;
using Microsoft.Azure.Cosmos;

const string Key = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
string Env(string name) => Environment.GetEnvironmentVariable(name) ?? throw new Exception(name + " is not set");
string name = "recreated", mode = Env("MAYFLY_MODE");
using var http = new HttpClient();
using var client = new CosmosClient(Env("MAYFLY_ENDPOINT"), Key, new CosmosClientOptions
{
    ConnectionMode = Enum.Parse<ConnectionMode>(mode), ServerCertificateCustomValidationCallback = (_, _, _) => true,
    AllowBulkExecution = false,
});
using var bulk = new CosmosClient(Env("MAYFLY_ENDPOINT"), Key, new CosmosClientOptions
{
    ConnectionMode = Enum.Parse<ConnectionMode>(mode), ServerCertificateCustomValidationCallback = (_, _, _) => true,
    AllowBulkExecution = true,
});

async Task<List<string>> Drain(FeedIterator<Item> pages)
{
    var ids = new List<string>();
    while (pages.HasMoreResults)
    {
        var page = await pages.ReadNextAsync();
        if (page.StatusCode == HttpStatusCode.NotModified) break;
        ids.AddRange(page.Select(i => i.id));
    }
    return ids;
}
void Same(string what, IEnumerable<string> got, IEnumerable<string> want)
{
    var (g, w) = (string.Join(" ", got.Order()), string.Join(" ", want.Order()));
    if (g != w) throw new Exception($"{what}: got {g}, want {w}");
}

string[] recreations =
    ["ranges=1", "ranges=2", "ranges=4", "ranges=1", "ranges=4&whole=true", "ranges=2&whole=true", "ranges=4", "ranges=1&whole=true"];
var database = (await client.CreateDatabaseAsync(name)).Database;
await database.CreateContainerAsync(new("c", "/pk") { PartitionKeyDefinitionVersion = PartitionKeyDefinitionVersion.V2 });
var c = client.GetContainer(name, "c");
var inBulk = bulk.GetContainer(name, "c");
for (var i = 0; i < 20; i++) await c.CreateItemAsync(new Item("" + i, "k" + i, i));
Same("at first", await Drain(c.GetItemQueryIterator<Item>("SELECT * FROM c")), Enumerable.Range(0, 20).Select(i => "" + i));
await inBulk.ReadItemAsync<Item>("1", new PartitionKey("k1"));
for (var round = 0; round < recreations.Length; round++)
{
    var told = await http.PostAsync($"{Env("MAYFLY_CONTROL")}recreate?database={name}&round={round}&{recreations[round]}", null);
    told.EnsureSuccessStatusCode();
    var want = Enumerable.Range(0, 7).Select(i => $"r{round}-{i}").ToList();
    (string, Func<Task>)[] uses =
    [
        ("query", async () => Same("query", await Drain(c.GetItemQueryIterator<Item>("SELECT * FROM c")), want)),
        ("order", async () => Same("order", await Drain(c.GetItemQueryIterator<Item>("SELECT * FROM c ORDER BY c.n")), want)),
        ("feed", async () => Same("feed",
            await Drain(c.GetChangeFeedIterator<Item>(ChangeFeedStartFrom.Beginning(), ChangeFeedMode.LatestVersion)), want)),
        ("read many", async () => Same("read many",
            (await c.ReadManyItemsAsync<Item>(want.Select((id, i) => (id, new PartitionKey("k" + i))).ToList())).Select(i => i.id), want)),
        ("points", async () =>
        {
            for (var i = 0; i < want.Count; i++)
            {
                Item item = await c.ReadItemAsync<Item>(want[i], new PartitionKey("k" + i));
                await c.UpsertItemAsync(item);
            }
        }),
        ("bulk", async () => await Task.WhenAll(want.Select((id, i) => inBulk.UpsertItemAsync(new Item(id, "k" + i, i))))),
    ];
    for (var i = 0; i < uses.Length; i++)
    {
        var (what, use) = uses[(i + round) % uses.Length];
        try { await use(); }
        catch (Exception e) { Console.WriteLine($"round {round} ({recreations[round]}), {what}: {e.Message.Split('\n')[0]}"); Environment.ExitCode = 1; }
    }
}
if (Environment.ExitCode == 0) Console.WriteLine("ok");

record Item(string id, string pk, int n);

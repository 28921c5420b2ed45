using System.Net.Http.Headers;
using System.Text;
using DotNet.Testcontainers.Builders;
using DotNet.Testcontainers.Containers;

namespace Mayfly.Testcontainers;

/// <summary>A Mayfly server in a container: in memory, on random ports, with a clock that the test moves.</summary>
public sealed class MayflyContainer : IAsyncDisposable
{
    /// <summary>The image of the latest release.</summary>
    public const string Image = "ghcr.io/mayflydb/mayfly:latest";

    /// <summary>The key of the emulators, which the server takes.</summary>
    public const string Key =
        "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

    private const ushort Cosmos = 8081;
    private const ushort Messages = 5672;
    private const ushort Management = 5300;

    private readonly IContainer container;

    private MayflyContainer(IContainer container) => this.container = container;

    /// <summary>Starts a server; resolves when it is ready. The variables are Mayfly's (MAYFLY_THROTTLE, ...).</summary>
    public static async Task<MayflyContainer> StartAsync(
        string image = Image, IReadOnlyDictionary<string, string>? variables = null)
    {
        var container = new ContainerBuilder()
            .WithImage(image)
            .WithPortBinding(Cosmos, true)
            .WithPortBinding(Messages, true)
            .WithPortBinding(Management, true)
            .WithEnvironment("MAYFLY_MEMORY", "true")
            .WithEnvironment("MAYFLY_VIRTUAL_CLOCK", "true")
            .WithEnvironment(variables ?? new Dictionary<string, string>())
            .WithWaitStrategy(Wait.ForUnixContainer().UntilHttpRequestIsSucceeded(
                request => request.ForPort(Cosmos).ForPath("/_mayfly/readyz")))
            .Build();
        await container.StartAsync();
        return new MayflyContainer(container);
    }

    /// <summary>For a CosmosClient with ConnectionMode.Gateway.</summary>
    public string ConnectionString =>
        $"AccountEndpoint=https://{Authority(Cosmos)}/;AccountKey={Key};DisableServerCertificateValidation=true;";

    /// <summary>For a ServiceBusClient.</summary>
    public string ServiceBusConnectionString => ServiceBus(Messages);

    /// <summary>For a ServiceBusAdministrationClient.</summary>
    public string ServiceBusAdministrationConnectionString => ServiceBus(Management);

    /// <summary>Moves the clock on; resolves when all that has expired by then is purged and told.</summary>
    public async Task AdvanceAsync(TimeSpan by)
    {
        using var client = new HttpClient();
        client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", Key);
        using var body = new StringContent(
            $"{{\"advance\": \"{(long)by.TotalMilliseconds}ms\"}}", Encoding.UTF8, "application/json");
        using var response = await client.PutAsync($"http://{Authority(Cosmos)}/_mayfly/clock?settle=true", body);
        response.EnsureSuccessStatusCode();
    }

    public ValueTask DisposeAsync() => container.DisposeAsync();

    private string Authority(ushort port) => $"{container.Hostname}:{container.GetMappedPublicPort(port)}";

    private string ServiceBus(ushort port) =>
        $"Endpoint=sb://{Authority(port)};SharedAccessKeyName=RootManageSharedAccessKey;"
        + "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;";
}

using System.Net;
using Microsoft.Azure.Cosmos;
using Xunit;

namespace Mayfly.Testcontainers;

public sealed class MayflyContainerTest
{
    private static readonly string Image =
        Environment.GetEnvironmentVariable("MAYFLY_IMAGE") ?? MayflyContainer.Image;

    [Fact]
    public async Task ASessionExpires()
    {
        await using var mayfly = await MayflyContainer.StartAsync(Image);
        using var client = new CosmosClient(
            mayfly.ConnectionString, new CosmosClientOptions { ConnectionMode = ConnectionMode.Gateway });
        Database database = await client.CreateDatabaseAsync("app");
        Container sessions = await database.CreateContainerAsync(
            new ContainerProperties("sessions", "/user") { DefaultTimeToLive = -1 });
        await sessions.CreateItemAsync(new { id = "1", user = "ada", ttl = 1800 });

        await mayfly.AdvanceAsync(TimeSpan.FromSeconds(1799));
        await sessions.ReadItemAsync<object>("1", new PartitionKey("ada"));
        await mayfly.AdvanceAsync(TimeSpan.FromSeconds(1));
        var gone = await Assert.ThrowsAsync<CosmosException>(
            () => sessions.ReadItemAsync<object>("1", new PartitionKey("ada")));
        Assert.Equal(HttpStatusCode.NotFound, gone.StatusCode);
    }
}

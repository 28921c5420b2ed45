package scenarios;

import static scenarios.Run.without;
import static scenarios.Want.equal;
import static scenarios.Want.fails;
import static scenarios.Want.matches;

import com.azure.core.cryptography.KeyEncryptionKey;
import com.azure.cosmos.encryption.CosmosEncryptionClient;
import com.azure.cosmos.encryption.CosmosEncryptionClientBuilder;
import com.azure.cosmos.encryption.CosmosEncryptionDatabase;
import com.azure.cosmos.encryption.models.CosmosEncryptionAlgorithm;
import com.azure.cosmos.encryption.models.CosmosEncryptionType;
import com.azure.cosmos.models.ClientEncryptionIncludedPath;
import com.azure.cosmos.models.ClientEncryptionPolicy;
import com.azure.cosmos.models.EncryptionKeyWrapMetadata;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Client encryption. */
final class Encryption {
    private Encryption() {}

    static void add(Map<String, Run.Body> every) {
        every.put("encryption-key-lifecycle", Encryption::keyLifecycle);
        every.put("encryption-unknown-key", Encryption::unknownKey);
        every.put("encryption-items", without("the newest plugin that can be had needs an older SDK"));
    }

    private static final String ALGORITHM = CosmosEncryptionAlgorithm.AEAD_AES_256_CBC_HMAC_SHA256.getName();

    /** Wraps keys as a key vault would, without one. */
    private record Wrapper(String id) implements KeyEncryptionKey {
        @Override
        public String getKeyId() {
            return id;
        }

        @Override
        public byte[] wrapKey(String algorithm, byte[] key) {
            byte[] wrapped = key.clone();
            for (int i = 0; i < wrapped.length; i++) {
                wrapped[i] ^= 0x5a;
            }
            return wrapped;
        }

        @Override
        public byte[] unwrapKey(String algorithm, byte[] wrapped) {
            return wrapKey(algorithm, wrapped);
        }
    }

    private static CosmosEncryptionDatabase encrypting(Scenario t) {
        t.database();
        CosmosEncryptionClient client = new CosmosEncryptionClientBuilder()
            .cosmosClient(t.connect())
            .keyEncryptionKeyResolver(Wrapper::new)
            .keyEncryptionKeyResolverName(CosmosEncryptionClientBuilder.KEY_RESOLVER_NAME_AZURE_KEY_VAULT)
            .buildClient();
        return client.getCosmosEncryptionDatabase(t.name);
    }

    private static EncryptionKeyWrapMetadata wrapping(String value) {
        return new EncryptionKeyWrapMetadata(CosmosEncryptionClientBuilder.KEY_RESOLVER_NAME_AZURE_KEY_VAULT, "master", value, "RSA-OAEP");
    }

    private static ClientEncryptionIncludedPath path(String path, CosmosEncryptionType type, String key) {
        return new ClientEncryptionIncludedPath().setPath(path).setEncryptionType(type.getName()).setClientEncryptionKeyId(key)
            .setEncryptionAlgorithm(ALGORITHM);
    }

    private static void keyLifecycle(Scenario t) {
        CosmosEncryptionDatabase db = encrypting(t);
        var made = db.createClientEncryptionKey("key", ALGORITHM, wrapping("one"));
        equal(made.getStatusCode(), 201);
        fails(409, () -> db.createClientEncryptionKey("key", ALGORITHM, wrapping("one")));
        var read = db.getClientEncryptionKey("key").read().getProperties();
        equal(read.getEncryptionKeyWrapMetadata().getValue(), "one");
        equal(Arrays.toString(read.getWrappedDataEncryptionKey()), Arrays.toString(made.getProperties().getWrappedDataEncryptionKey()));
        db.rewrapClientEncryptionKey("key", wrapping("two"));
        equal(db.getClientEncryptionKey("key").read().getProperties().getEncryptionKeyWrapMetadata().getValue(), "two");
    }

    private static void unknownKey(Scenario t) {
        t.database();
        var policy = new ClientEncryptionPolicy(List.of(path("/secret", CosmosEncryptionType.RANDOMIZED, "none")));
        matches(fails(400, () -> t.container(p -> p.setClientEncryptionPolicy(policy))).getMessage(), "does not exist");
    }
}

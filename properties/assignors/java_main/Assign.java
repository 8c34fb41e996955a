// The assignors of Kafka's consumer, as a port of `groupcheck assignors verify`.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.common.utils.Utils;

public final class Assign {
    /** Gives an `assign` message its assignment. */
    interface Assignor {
        ObjectNode assign(JsonNode message) throws IOException;
    }

    static final ObjectMapper JSON = new ObjectMapper();

    // Each message has a new assignor: what an earlier group left in it must not matter.
    static final Map<String, Assignor> ASSIGNORS = new LinkedHashMap<>();

    static {
        ASSIGNORS.put("range", message -> assigned(new RangeAssignor(), message));
        ASSIGNORS.put("roundrobin", message -> assigned(new RoundRobinAssignor(), message));
        ASSIGNORS.put("sticky", message -> assigned(new StickyAssignor(), message));
        ASSIGNORS.put(
            "cooperative-sticky", message -> assigned(new CooperativeStickyAssignor(), message));
    }

    public static void main(String[] arguments) throws IOException {
        // Standard output has answers only, whatever a library prints.
        OutputStream answers = new FileOutputStream(FileDescriptor.out);
        System.setOut(System.err);
        BufferedReader messages =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = messages.readLine()) != null; ) {
            String answer = answer(JSON.readTree(line)) + "\n";
            answers.write(answer.getBytes(StandardCharsets.UTF_8));
        }
    }

    private static ObjectNode answer(JsonNode message) {
        ObjectNode answer = JSON.createObjectNode();
        if (message.path("type").asText().equals("open")) {
            answer.put("name", "kafka-clients").put("version", AppInfoParser.getVersion());
            ArrayNode names = answer.putArray("assignors");
            ASSIGNORS.keySet().forEach(names::add);
            return answer;
        }
        String name = message.path("assignor").asText();
        Assignor assignor = ASSIGNORS.get(name);
        if (assignor == null) {
            return answer.put("error", "no assignor with this name: " + name);
        }
        try {
            return answer.set("assignment", assignor.assign(message));
        } catch (Exception | AssertionError | StackOverflowError failure) {
            return answer.put("error", failure.toString().replaceAll("\\R", " "));
        }
    }

    /** Does what the leader of a group does: ConsumerCoordinator.onLeaderElected. */
    private static ObjectNode assigned(ConsumerPartitionAssignor assignor, JsonNode message)
            throws IOException {
        // A HashMap as there: an assignor may depend on its order.
        Map<String, Subscription> subscriptions = new HashMap<>();
        for (JsonNode member : message.get("members")) {
            ByteBuffer metadata = ByteBuffer.wrap(member.get("metadata").binaryValue());
            Subscription subscription = ConsumerProtocol.deserializeSubscription(metadata);
            subscription.setGroupInstanceId(optional(member.get("groupInstanceId")));
            subscriptions.put(member.get("memberId").textValue(), subscription);
        }
        Map<String, Assignment> assignments = assignor
            .assign(cluster(message.get("topics")), new GroupSubscription(subscriptions))
            .groupAssignment();
        ObjectNode encoded = JSON.createObjectNode();
        assignments.forEach((id, assignment) ->
            // Jackson encodes bytes as base64.
            encoded.put(id, Utils.toArray(ConsumerProtocol.serializeAssignment(assignment))));
        return encoded;
    }

    /** The metadata of the topics, in a cluster with one broker for each rack. */
    private static Cluster cluster(JsonNode topics) {
        Map<String, Node> brokers = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        for (Iterator<String> names = topics.fieldNames(); names.hasNext(); ) {
            String name = names.next();
            for (int number = 0; number < topics.get(name).size(); number++) {
                Node[] replicas = replicas(topics.get(name).get(number), brokers);
                partitions.add(new PartitionInfo(name, number, replicas[0], replicas, replicas));
            }
        }
        return new Cluster("cluster", brokers.values(), partitions, Set.of(), Set.of());
    }

    /** The brokers in some racks; without racks one broker that has none. */
    private static Node[] replicas(JsonNode racks, Map<String, Node> brokers) {
        List<String> names = new ArrayList<>();
        racks.forEach(rack -> names.add(rack.textValue()));
        if (names.isEmpty()) {
            names.add(null);
        }
        return names.stream()
            .map(name -> brokers.computeIfAbsent(
                name, rack -> new Node(brokers.size(), "broker", 9092, rack)))
            .toArray(Node[]::new);
    }

    static Optional<String> optional(JsonNode value) {
        return Optional.ofNullable(value.textValue());
    }
}

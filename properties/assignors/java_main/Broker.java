// The port with the assignors of the group coordinator too (KIP-848); Kafka 2.7 has none.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

public final class Broker {
    public static void main(String[] arguments) throws IOException {
        Assign.ASSIGNORS.put("broker:range", message -> assigned(new RangeAssignor(), message));
        Assign.ASSIGNORS.put("broker:uniform", message -> assigned(new UniformAssignor(), message));
        Assign.main(arguments);
    }

    /** Does what the group coordinator does: TargetAssignmentBuilder.build. */
    private static ObjectNode assigned(PartitionAssignor assignor, JsonNode message) {
        Topics topics = new Topics(message.get("topics"));
        // A HashMap as there: an assignor may depend on its order.
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        Set<Set<String>> subscriptions = new HashSet<>();
        for (JsonNode member : message.get("members")) {
            String memberId = member.get("memberId").textValue();
            Set<String> names = new HashSet<>();
            member.get("topics").forEach(name -> names.add(name.textValue()));
            subscriptions.add(names);
            Map<Uuid, Set<Integer>> owned = topics.existing(member.get("ownedPartitions"));
            owned.forEach((topic, numbers) -> numbers.forEach(number ->
                owners.computeIfAbsent(topic, id -> new HashMap<>()).put(number, memberId)));
            members.put(memberId, new MemberSubscriptionAndAssignmentImpl(
                Assign.optional(member.get("rackId")),
                Assign.optional(member.get("groupInstanceId")),
                topics.existing(names),
                new Assignment(owned)));
        }
        // Topics that do not exist count too: ModernGroup.subscriptionType.
        SubscriptionType type = subscriptions.size() > 1
            ? SubscriptionType.HETEROGENEOUS
            : SubscriptionType.HOMOGENEOUS;
        GroupSpec group = new GroupSpecImpl(members, type, owners);
        Map<String, MemberAssignment> assigned = assignor.assign(group, topics).members();
        ObjectNode answer = Assign.JSON.createObjectNode();
        for (String memberId : members.keySet()) {
            // A member that the assignor leaves out has no partitions.
            MemberAssignment partitions = assigned.getOrDefault(memberId, Assignment.EMPTY);
            answer.set(memberId, topics.named(partitions.partitions()));
        }
        return answer;
    }

    /** The topics that exist. */
    private static final class Topics implements SubscribedTopicDescriber {
        private final Map<String, Uuid> ids = new HashMap<>();
        private final Map<Uuid, String> names = new HashMap<>();
        private final JsonNode racks;

        Topics(JsonNode topics) {
            racks = topics;
            topics.fieldNames().forEachRemaining(name -> {
                UUID id = UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8));
                ids.put(name, new Uuid(id.getMostSignificantBits(), id.getLeastSignificantBits()));
                names.put(ids.get(name), name);
            });
        }

        /** The ids of topics, in the order of the names, without topics that do not exist. */
        Set<Uuid> existing(Set<String> topics) {
            Set<Uuid> found = new LinkedHashSet<>();
            topics.stream().filter(ids::containsKey).forEach(name -> found.add(ids.get(name)));
            return found;
        }

        /** Partitions by topic, without partitions that do not exist: no broker assigned them. */
        Map<Uuid, Set<Integer>> existing(JsonNode partitions) {
            Map<Uuid, Set<Integer>> found = new HashMap<>();
            partitions.fieldNames().forEachRemaining(name -> {
                for (JsonNode number : partitions.get(name)) {
                    if (number.intValue() < racks.path(name).size()) {
                        found.computeIfAbsent(ids.get(name), id -> new HashSet<>())
                            .add(number.intValue());
                    }
                }
            });
            return found;
        }

        ObjectNode named(Map<Uuid, Set<Integer>> partitions) {
            ObjectNode named = Assign.JSON.createObjectNode();
            partitions.forEach((topic, numbers) -> {
                ArrayNode sorted = named.putArray(names.get(topic));
                new TreeSet<>(numbers).forEach(sorted::add);
            });
            return named;
        }

        @Override
        public int numPartitions(Uuid topic) {
            return names.containsKey(topic) ? racks.get(names.get(topic)).size() : -1;
        }

        @Override
        public Set<String> racksForPartition(Uuid topic, int partition) {
            Set<String> found = new HashSet<>();
            racks.path(names.get(topic)).path(partition)
                .forEach(rack -> found.add(rack.textValue()));
            return found;
        }
    }
}

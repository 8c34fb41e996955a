// Consumers of Apache Kafka in one process, each in its own thread.
//
// Each line of standard input is a command, and each line of standard output an event. The program
// ends with its input. The commands, each with the name of a consumer:
//   {"command":"start","consumer":"m0","topics":["t0"],"settings":{"bootstrap.servers":…}}
//     or "pattern":"t.*" in place of the topics. An exception of poll does not end the consumer,
//     unless "fragile" is true.
//   {"command":"hold","consumer":"m0"}: it does not call poll, until "go".
//   {"command":"close","consumer":"m0"}: it leaves its group.
// The events have "consumer", "event" and "owns", all partitions that the consumer has now:
//   assigned, revoked, lost (with "partitions"), generation (with "generation" and "memberId"),
//   record (with "partition" and "value"), exception (with "reason"), held, closed.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

public final class Consumers {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream EVENTS =
        new PrintStream(new FileOutputStream(FileDescriptor.out), true);

    public static void main(String[] arguments) throws IOException {
        // Standard output has events only, whatever a library prints.
        System.setOut(System.err);
        Map<String, Member> members = new HashMap<>();
        BufferedReader commands =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = commands.readLine()) != null; ) {
            JsonNode command = JSON.readTree(line);
            String name = command.get("consumer").textValue();
            switch (command.get("command").textValue()) {
                case "start":
                    members.put(name, new Member(name, command));
                    members.get(name).start();
                    break;
                case "hold":
                    members.get(name).wanted = Wanted.HELD;
                    break;
                case "go":
                    members.get(name).wanted = Wanted.POLLING;
                    break;
                case "close":
                    members.get(name).wanted = Wanted.CLOSED;
                    break;
                default:
                    throw new IllegalArgumentException("not a command: " + line);
            }
        }
        System.exit(0);
    }

    /** What a consumer is to do. */
    private enum Wanted { POLLING, HELD, CLOSED }

    private static final class Member extends Thread implements ConsumerRebalanceListener {
        volatile Wanted wanted = Wanted.POLLING;

        private final String name;
        private final KafkaConsumer<String, String> consumer;
        private final boolean isFragile;
        private boolean isHeld;
        private int generation = -1;

        Member(String name, JsonNode command) {
            this.name = name;
            isFragile = command.path("fragile").booleanValue();
            Properties settings = new Properties();
            command.get("settings").fields().forEachRemaining(
                each -> settings.setProperty(each.getKey(), each.getValue().asText()));
            StringDeserializer text = new StringDeserializer();
            consumer = new KafkaConsumer<>(settings, text, text);
            if (command.has("pattern")) {
                consumer.subscribe(Pattern.compile(command.get("pattern").textValue()), this);
            } else {
                List<String> topics = new ArrayList<>();
                command.get("topics").forEach(topic -> topics.add(topic.textValue()));
                consumer.subscribe(topics, this);
            }
            setDaemon(true);
        }

        @Override
        public void run() {
            while (wanted != Wanted.CLOSED) {
                try {
                    step();
                } catch (Exception failure) {
                    report("exception", "reason", failure.toString());
                    if (isFragile) {
                        break;
                    }
                }
            }
            consumer.close();
            EVENTS.println(event("closed"));
        }

        private void step() throws InterruptedException {
            if (wanted == Wanted.HELD) {
                if (!isHeld) {
                    print(event("held"));
                }
                isHeld = true;
                Thread.sleep(10);
                return;
            }
            isHeld = false;
            for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofMillis(100))) {
                ObjectNode event = event("record").put("value", each.value());
                print(event.put("partition", each.topic() + "-" + each.partition()));
            }
            ConsumerGroupMetadata group = consumer.groupMetadata();
            if (group.generationId() != generation) {
                generation = group.generationId();
                ObjectNode event = event("generation").put("generation", generation);
                print(event.put("memberId", group.memberId()));
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            report("assigned", "partitions", named(partitions));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            report("revoked", "partitions", named(partitions));
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            report("lost", "partitions", named(partitions));
        }

        private void report(String kind, String field, Object value) {
            print(event(kind).set(field, JSON.valueToTree(value)));
        }

        private void print(ObjectNode event) {
            event.set("owns", JSON.valueToTree(named(consumer.assignment())));
            EVENTS.println(event);
        }

        private ObjectNode event(String kind) {
            return JSON.createObjectNode().put("consumer", name).put("event", kind);
        }

        private static List<String> named(Collection<TopicPartition> partitions) {
            return partitions.stream().map(Object::toString).sorted().collect(Collectors.toList());
        }
    }
}

// Consumers of Apache Kafka in one process, each led by a process that plays its coordinator.
//
// The program reads a line of JSON for each consumer that it has to make, and ends with its input:
//   {"control":PORT,"settings":{…}}
// The consumer's application connects to the port. It reads commands, polls meanwhile, and writes
// what happens to it; it waits after such a line until that is acknowledged.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.AppInfoParser;

public final class LedConsumers {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String TOPIC = "t";
    private static final long COMMIT_OFFSET = 6;
    private static final Duration POLL = Duration.ofMillis(20);
    private static final Duration CLOSE = Duration.ofSeconds(20);
    private static final Duration END_CLOSE = Duration.ofSeconds(1);
    private static final String END = "end";
    private static final String FATAL = "fatal";

    public static void main(String[] arguments) throws IOException {
        System.out.println(AppInfoParser.getVersion());
        // Standard output has the version only, whatever a library prints.
        System.setOut(System.err);
        BufferedReader lines = reader(System.in);
        for (String line; (line = lines.readLine()) != null; ) {
            new Application(JSON.readTree(line)).start();
        }
        Runtime.getRuntime().halt(0); // whatever a consumer still waits for
    }

    private static BufferedReader reader(InputStream stream) {
        return new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
    }

    /** The connection to the process that leads the consumer. */
    private static final class Control extends Thread {
        volatile boolean ended;

        private final BlockingQueue<String> commands = new LinkedBlockingQueue<>();
        private final Semaphore acknowledged = new Semaphore(0);
        private final Socket socket;
        private final OutputStream output;

        Control(int port) throws IOException {
            socket = new Socket(InetAddress.getLoopbackAddress(), port);
            socket.setTcpNoDelay(true);
            output = socket.getOutputStream();
            setDaemon(true);
        }

        @Override
        public void run() {
            try (BufferedReader lines = reader(socket.getInputStream())) {
                for (String line; (line = lines.readLine()) != null; ) {
                    if (line.equals("acknowledged")) {
                        acknowledged.release();
                    } else {
                        commands.add(line);
                    }
                }
            } catch (IOException failure) {
                // As if it had ended.
            }
            ended = true;
            commands.add(END);
            acknowledged.release(1_000); // no thread waits any more
        }

        /** The next command; null if there is none yet. */
        String command(boolean wait) throws InterruptedException {
            return wait ? commands.take() : commands.poll();
        }

        /** Writes a line, and waits until it is acknowledged. */
        synchronized void report(String line) {
            if (state(line)) {
                acknowledged.acquireUninterruptibly();
            }
        }

        /** Writes a line that is not acknowledged. */
        synchronized boolean state(String line) {
            try {
                String oneLine = line.replaceAll("\\s+", " ").strip() + "\n";
                output.write(oneLine.getBytes(StandardCharsets.UTF_8));
                output.flush();
                return !ended;
            } catch (IOException failure) {
                return false;
            }
        }

        void close() {
            try {
                socket.close();
            } catch (IOException failure) {
                // It is closed.
            }
        }
    }

    /** What an application does with its consumer, in its own thread. */
    private static final class Application extends Thread implements ConsumerRebalanceListener {
        private final Control control;
        private final JsonNode settings;
        private KafkaConsumer<byte[], byte[]> consumer;
        private boolean isPolling;
        private boolean isClosed;

        Application(JsonNode started) throws IOException {
            control = new Control(started.get("control").intValue());
            settings = started.get("settings");
            setDaemon(true);
        }

        @Override
        public void run() {
            control.start();
            try {
                Properties properties = new Properties();
                settings.fields().forEachRemaining(
                    each -> properties.setProperty(each.getKey(), each.getValue().asText()));
                ByteArrayDeserializer bytes = new ByteArrayDeserializer();
                consumer = new KafkaConsumer<>(properties, bytes, bytes);
                consumer.partitionsFor(TOPIC); // connects
            } catch (RuntimeException failure) {
                control.state("failed " + failure);
                control.close();
                return;
            }
            control.state("started");
            try {
                for (String each; !END.equals(each = control.command(!isPolling)); ) {
                    if (each != null) {
                        control.state("taken");
                        act(each);
                    }
                    if (isPolling) {
                        poll();
                    }
                }
            } catch (InterruptedException failure) {
                // No thread interrupts it.
            }
            close(END_CLOSE);
            control.close();
        }

        private void act(String command) {
            try {
                switch (command) {
                    case "subscribe":
                        consumer.subscribe(List.of(TOPIC), this);
                        isPolling = true;
                        break;
                    case "unsubscribe":
                        isPolling = false;
                        consumer.unsubscribe();
                        break;
                    case "commit":
                        consumer.commitAsync(offsets(), (offsets, failure) -> result(failure));
                        break;
                    case "commit-sync":
                        commitAndWait();
                        break;
                    case "stall":
                        isPolling = false;
                        break;
                    case "poll":
                        isPolling = true;
                        break;
                    case "close":
                        close(CLOSE);
                        control.state("closed");
                        break;
                    default:
                        throw new IllegalArgumentException("not a command: " + command);
                }
            } catch (RuntimeException failure) {
                raised(failure);
            }
        }

        private void poll() {
            try {
                consumer.poll(POLL);
            } catch (RuntimeException failure) {
                raised(failure);
                try {
                    Thread.sleep(POLL.toMillis());
                } catch (InterruptedException interrupted) {
                    // No thread interrupts it.
                }
            }
        }

        private void close(Duration limit) {
            isPolling = false;
            if (!isClosed) {
                isClosed = true;
                try {
                    consumer.close(limit);
                } catch (RuntimeException failure) {
                    raised(failure);
                }
            }
        }

        private void commitAndWait() {
            Exception found = null;
            try {
                consumer.commitSync(offsets());
            } catch (RuntimeException failure) {
                found = failure;
            }
            isPolling = isPolling && (found == null || !kind(found).equals(FATAL));
            result(found);
        }

        private Map<TopicPartition, OffsetAndMetadata> offsets() {
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (TopicPartition each : consumer.assignment()) {
                offsets.put(each, new OffsetAndMetadata(COMMIT_OFFSET));
            }
            return offsets;
        }

        private void result(Exception failure) {
            control.report(
                failure == null ? "committed" : "commit-failed " + kind(failure) + " " + failure);
        }

        private void raised(RuntimeException failure) {
            boolean isFatal = kind(failure).equals(FATAL);
            if (isFatal) {
                isPolling = false;
            }
            control.report("raised " + (isFatal ? FATAL : "other") + " " + failure);
        }

        private static String kind(Exception failure) {
            if (failure instanceof FencedInstanceIdException) {
                return FATAL;
            }
            if (failure instanceof CommitFailedException) {
                return "not-a-member";
            }
            if (failure instanceof RebalanceInProgressException) {
                return "rebalancing";
            }
            return failure instanceof RetriableException ? "retriable" : "other";
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            control.report("assigned " + numbers(partitions));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            control.report("revoked " + numbers(partitions));
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            control.report("lost " + numbers(partitions));
        }

        private static String numbers(Collection<TopicPartition> partitions) {
            return partitions.stream()
                .map(each -> String.valueOf(each.partition()))
                .sorted()
                .collect(Collectors.joining(" "));
        }
    }
}

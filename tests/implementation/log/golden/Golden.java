// Makes kafka-4.1.0.log with Kafka's own classes: `java -cp CLASSPATH Golden.java > kafka-4.1.0.log`
// where the class path is that of org.apache.kafka:kafka_2.13:4.1.0 from Maven Central.
// What it holds is said in test_golden.py.

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.coordinator.group.generated.GroupMetadataKey;
import org.apache.kafka.coordinator.group.generated.GroupMetadataValue;
import org.apache.kafka.coordinator.group.generated.OffsetCommitKey;
import org.apache.kafka.coordinator.group.generated.OffsetCommitValue;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupMetadataKey;
import org.apache.kafka.coordinator.group.generated.ConsumerGroupMetadataValue;

public class Golden {
    static final long TIME = 1_600_000_000_000L;
    static long offset = 0;

    static byte[] bytes(int version, ApiMessage message, int prefix) {
        ByteBuffer body = MessageUtil.toByteBufferAccessor(message, (short) version).buffer();
        byte[] all = new byte[2 + body.remaining()];
        ByteBuffer.wrap(all).putShort((short) prefix).put(body);
        return all;
    }

    static byte[] offsetKey(int type, int partition) {
        return bytes(0, new OffsetCommitKey().setGroup("grüße").setTopic("topic").setPartition(partition), type);
    }

    static byte[] groupKey(String group) {
        return bytes(0, new GroupMetadataKey().setGroup(group), 2);
    }

    static byte[] offsetValue(int version) {
        OffsetCommitValue value = new OffsetCommitValue()
            .setOffset(1_000_000_000_000L + version)
            .setMetadata("méta")
            .setCommitTimestamp(TIME);
        if (version == 1) value.setExpireTimestamp(TIME + 1);
        if (version >= 3) value.setLeaderEpoch(9);
        if (version >= 4) value.setTopicId(new Uuid(1, 2));
        return bytes(version, value, version);
    }

    static byte[] groupValue(int version) {
        List<GroupMetadataValue.MemberMetadata> members = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            members.add(new GroupMetadataValue.MemberMetadata()
                .setMemberId("member-" + i)
                .setGroupInstanceId(version >= 3 && i == 0 ? "instance" : null)
                .setClientId("client")
                .setClientHost("/127.0.0.1")
                .setRebalanceTimeout(version >= 1 ? 300_000 : -1)
                .setSessionTimeout(10_000)
                .setSubscription(new byte[] {0, 1, 2})
                .setAssignment(new byte[i * 200]));
        }
        GroupMetadataValue value = new GroupMetadataValue()
            .setProtocolType("consumer")
            .setGeneration(version + 1)
            .setProtocol("range")
            .setLeader(version == 0 ? null : "member-0")
            .setMembers(members);
        if (version >= 2) value.setCurrentStateTimestamp(TIME);
        return bytes(version, value, version);
    }

    static void out(MemoryRecords records, int count) throws IOException {
        ByteBuffer buffer = records.buffer();
        byte[] all = new byte[buffer.remaining()];
        buffer.get(all);
        System.out.write(all);
        offset += count;
    }

    static SimpleRecord record(byte[] key, byte[] value) {
        return new SimpleRecord(TIME + offset, key, value);
    }

    static void plain(int magic, Compression compression, SimpleRecord... records) throws IOException {
        out(MemoryRecords.withRecords((byte) magic, offset, compression, records), records.length);
    }

    static void end(ControlRecordType type, long producerId) throws IOException {
        out(MemoryRecords.withEndTransactionMarker(
            offset, TIME, 0, producerId, (short) 4, new EndTransactionMarker(type, 5)), 1);
    }

    public static void main(String[] arguments) throws IOException {
        for (int magic = 0; magic < 2; magic++) {
            plain(magic, Compression.NONE, record(offsetKey(0, magic), offsetValue(0)));
            plain(magic, Compression.gzip().build(),
                record(groupKey("old"), groupValue(0)), record(offsetKey(1, magic), offsetValue(1)));
        }
        for (int version = 0; version <= 4; version++) {
            plain(2, Compression.NONE, record(offsetKey(1, version), offsetValue(version)));
            plain(2, Compression.NONE,
                record(groupKey("group-" + version), groupValue(version)),
                record(offsetKey(1, 10 + version), null));
        }
        plain(2, Compression.gzip().build(), record(groupKey("gone"), null));
        plain(2, Compression.NONE,
            record(bytes(0, new ConsumerGroupMetadataKey().setGroupId("new"), 3),
                bytes(0, new ConsumerGroupMetadataValue().setEpoch(1), 0)),
            record(groupKey("beside"), null));
        for (long producerId : new long[] {7, 8}) {
            SimpleRecord commit = record(offsetKey(1, 99), offsetValue(3));
            out(MemoryRecords.withTransactionalRecords(
                offset, Compression.NONE, producerId, (short) 4, 0, 0, commit), 1);
        }
        end(ControlRecordType.COMMIT, 7);
        end(ControlRecordType.ABORT, 8);
        System.out.flush();
    }
}

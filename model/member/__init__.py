"""A member: a consumer of the classic protocol, as the Java client of Kafka 2.7 and 4.1 has it."""

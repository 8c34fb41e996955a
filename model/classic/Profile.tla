------------------------------- MODULE Profile -------------------------------
(* The constants of an instance, and the differences between versions of Kafka. *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Version,         \* of Kafka: "0.10.0", "0.10.2", "2.7" or "4.1"
  Names,           \* of members: strings, as many as there are members at a time
  Features,        \* of the instance, besides members. clients.py describes them
  SessionTicks,    \* the session timeout of every member
  RebalanceTicks,  \* the rebalance timeout of every member
  DelayTicks,      \* group.initial.rebalance.delay.ms
  MaxSize,         \* group.max.size, until another broker loads the partition
  Generations,     \* how many generations a state distinguishes
  NewMemberTicks,  \* how long a new member may wait for its first generation
  Observed         \* whether steps that apply different rules are different

Timed        == "time" \in Features  \* otherwise only the initial delay passes
WithOffsets  == "offsets" \in Features  \* offsets are committed and fetched
Fails        == "failing-appends" \in Features  \* an append may fail, one at a time
Moves        == "failover" \in Features  \* the partition moves, and the coordinator shuts down
Resizes      == Moves /\ "max-size" \in Features  \* to a broker with another group.max.size
\* The log is part of the state, because it may be loaded.
Logged       == Moves \/ "crashes" \in Features
Transacted   == "transactions" \in Features  \* offsets are also committed in transactions
Expires      == "expiry" \in Features  \* offsets expire, and a cleanup removes them
Administered == "administration" \in Features  \* clients list and delete groups, and delete offsets

\* What differs between the versions.
Old                       == Version \in {"0.10.0", "0.10.2"}
GivesIdsFirst             == ~Old  \* MEMBER_ID_REQUIRED, pending members (KIP-394)
InitialDelay              == ~Old  \* the join phase of an Empty group lasts a delay (KIP-134)
\* A parked JoinGroup keeps a new member alive for a limited time (KAFKA-7610).
NewMembersExpire          == ~Old
\* The parked JoinGroup of a removed member gets an error (KAFKA-7610).
RemovedAreAnswered        == ~Old
ChecksEveryGroupId        == ~Old  \* every API checks the group id, not only JoinGroup
ChecksFirstOffer          == ~Old  \* the first member must offer a protocol (KAFKA-6005)
SyncsByProtocol           == ~Old  \* SyncGroup names the protocol type and name (KIP-559)
LeavesInBatches           == ~Old  \* LeaveGroup names several members (KIP-345)
FetchesStable             == ~Old  \* OffsetFetch can require stable offsets (KIP-447)
\* Heartbeats restart the session timer in CompletingRebalance (KAFKA-10134).
HeartbeatsInCompleting    == ~Old
FiltersStates             == ~Old  \* ListGroups filters by state (KIP-518)
DeletesGroups             == ~Old  \* DeleteGroups (KIP-229)
\* OffsetDelete, which reads the subscriptions of consumers (KIP-496).
DeletesOffsets            == ~Old
\* Retention starts when the group is Empty, not at each commit (KIP-211).
RetainedFromEmpty         == ~Old
DroppedTimersRun          == Old  \* the session timers of dropped members run on. 0.10.2 GC:685,739
CompletingCheckedFirst    == Old  \* OffsetCommit checks CompletingRebalance before the member id
\* Heartbeats restart the session timer in PreparingRebalance.
HeartbeatsInPreparing     == Version # "0.10.0"
\* A commit whose metadata is too long leaves its partition unstable for good, which keeps the
\* offset and the group from expiring, and no more. 0.10.2 GMM:317
RefusedStayUnstable       == Version = "0.10.2" /\ Expires
EmptyGroupsDie            == Version = "0.10.0"  \* there is no Empty state (until KAFKA-2720)
FirstState                == IF EmptyGroupsDie THEN "Stable" ELSE "Empty"
\* Members loaded from the log count as static (until KAFKA-10497).
LoadedCountAsStatic       == Version = "2.7"
\* NOT_ENOUGH_REPLICAS of an append gets another error code.
ReplicasAreMapped         == Version # "0.10.0"
RebalanceTimeout          == IF Version = "0.10.0" THEN SessionTicks ELSE RebalanceTicks
RefusedGeneration         == IF Old THEN 0 ELSE -1
CompletingName            == IF Old THEN "AwaitingSync" ELSE "CompletingRebalance"
Newest                    == Version = "4.1"
\* A new member extends the delay of every generation, not only of the first.
EveryDelayGrows           == Newest
\* The initial delay ends when the last member that it waits for expires.
ExpiryEndsDelay           == Newest
SyncsExpire               == Newest  \* the time to sync is limited (KAFKA-12890)
SyncsRestartSessions      == ~Newest  \* a SyncGroup in Stable restarts the session timer
\* Assignments stay visible in every state, until a generation fails.
AssignmentsStay           == Newest
\* All members of a batch leave before the group is checked again.
LeavesTogether            == Newest
AnyProtocolUntilChosen    == Newest  \* SyncGroup accepts any protocol while none is chosen
EmptyRefusesSync          == Newest  \* SyncGroup checks first whether the group is Empty
OnlyMembersCommit         == Newest  \* only members commit to a group that has members
ReturnsNotFound           == Newest  \* OffsetCommit and DescribeGroups return GROUP_ID_NOT_FOUND
HidesUnpersisted          == Newest  \* a group is visible once a record is written to its partition
\* No offset of a group expires during a rebalance (KAFKA-13636).
ExpiresOnlyInStable       == Newest
TransactionsKeepOffsets   == Newest  \* a pending offset of a transaction keeps the committed one
FailuresAreRolledBack     == Newest  \* a failed append is rolled back as a whole
WritesMarkers             == Newest  \* only the coordinator of the group writes a marker
TombstonesEndTransactions == Newest  \* the tombstone of an offset also removes pending offsets
RemovalsAreWritten        == Newest  \* a removal takes effect only if its append succeeds
TxnChecksMembers          == Newest  \* TxnOffsetCommit checks the member, if the request names one
\* ListGroups ignores upper and lower case in the states of its filter.
FilterIgnoresCase         == Newest
FiltersTypes              == Newest  \* ListGroups filters by type (KIP-848)
EmptiedAreLoaded          == Newest  \* an uncompacted log brings a group without offsets back
LastOffsetRemovesGroup    == ~Newest  \* OffsetDelete of the last offset removes an Empty group
ResponsesAreDeferred      == Newest  \* responses wait until the records before them are committed
\* A static member that rejoins does not get responses for its old id.
ReplacementsAreNew        == Newest
ChecksInstances           == Newest  \* a group.instance.id without a member is rejected
\* The response tells a leader that rejoins to skip the assignment (KIP-814).
SkipsAssignment           == Newest
\* A static member that rejoins before its first generation stays new.
ReplacementsStayNew       == ~Newest
ReadsCommitTime           == ~Newest  \* OffsetCommit version 1 says when an offset was committed
RejectedJoinsComplete     == ~Newest  \* a rejected JoinGroup can also complete the join phase
\* GROUP_MAX_SIZE_REACHED removes the member with its group.instance.id.
RejectionRemovesMember    == Newest
CommitsInTransactions     == ~Old
ActiveCheckedFirst        == Version # "2.7"  \* a shutdown is checked before the group id
\* The runtime checks the partition last, and does not return the member id.
RuntimeChecksLast         == Newest
LoadingRestartsSync       == ~Newest  \* SyncGroup returns REBALANCE_IN_PROGRESS during loading
RecordsNewGroups          == Newest  \* a JoinGroup that creates a group writes a record
\* A shutdown unloads the partitions, which answers parked requests.
ShutdownUnloads           == Newest
\* An append may end with REQUEST_TIMED_OUT when it is in the log: not with acks=1.
LateErrors                == ~Newest

\* The errors of appends. With offsets that expire, one is enough.
AppendErrors == {"NOT_ENOUGH_REPLICAS"} \cup
                (IF LateErrors /\ ~Expires THEN {"REQUEST_TIMED_OUT"} ELSE {})

\* offsets.retention.minutes, in an instance where offsets expire.
RetentionTicks == NewMemberTicks

\* The most appends that are incomplete, or responses that are deferred, at a time.
MaxHeld == IF "held-appends" \notin Features THEN 0 ELSE IF ResponsesAreDeferred THEN 2 ELSE 1

==============================================================================

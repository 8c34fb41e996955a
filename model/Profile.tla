------------------------------- MODULE Profile --------------------------------
(* The constants of an instance, and what differs between Kafka's versions.   *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Version,         \* of Kafka: "0.10.0", "0.10.2", "2.7" or "4.1"
  Names,           \* of members, strings; also how many there are at one time
  Features,        \* what there is besides members: clients.py says what each is
  SessionTicks,    \* the session timeout of every member
  RebalanceTicks,  \* the rebalance timeout of every member
  DelayTicks,      \* group.initial.rebalance.delay.ms
  MaxSize,         \* group.max.size
  Generations,     \* so many are told apart, the last from all before it
  NewMemberTicks,  \* how long a new member may wait for its first generation
  Observed         \* whether the rules that a step applies are told apart

Timed       == "time" \in Features     \* else none but the initial delay ever passes
WithOffsets == "offsets" \in Features  \* are committed and fetched
Fails       == "failing-appends" \in Features  \* one append after the other may
Moves       == "failover" \in Features  \* the partition, and the coordinator is shut down
Logged      == Moves \/ "crashes" \in Features  \* what will be loaded one day
Transacted  == "transactions" \in Features    \* offsets are committed in transactions too
Expires     == "expiry" \in Features  \* offsets grow old, and a cleanup removes them
Administered == "administration" \in Features  \* groups are listed and deleted, and offsets

\* What differs between the versions.
Old == Version \in {"0.10.0", "0.10.2"}
GivesIdsFirst      == ~Old  \* MEMBER_ID_REQUIRED, pending members (KIP-394)
InitialDelay       == ~Old  \* from Empty the join phase lasts a delay (KIP-134)
NewMembersExpire   == ~Old  \* a parked JoinGroup is no life for ever (KAFKA-7610)
RemovedAreAnswered == ~Old  \* who is removed with its JoinGroup parked is told (KAFKA-7610)
ChecksEveryGroupId == ~Old  \* not only JoinGroup's
ChecksFirstOffer   == ~Old  \* of who joins an Empty group (KAFKA-6005)
SyncsByProtocol    == ~Old  \* SyncGroup says type and name (KIP-559)
LeavesInBatches    == ~Old  \* (KIP-345)
FetchesStable      == ~Old  \* (KIP-447)
HeartbeatsInCompleting  == ~Old  \* heartbeats count in CompletingRebalance (KAFKA-10134)
FiltersStates      == ~Old  \* ListGroups does (KIP-518)
DeletesGroups      == ~Old  \* (KIP-229)
DeletesOffsets     == ~Old  \* and knows what consumers subscribe to (KIP-496)
RetainedFromEmpty  == ~Old  \* not each offset by itself (KIP-211)
DroppedTimersRun  == Old   \* and end one day: 0.10.2 GC:685,739
EmptyRefusesSync   == Version = "4.1"  \* SyncGroup looks first whether anybody is there
CompletingCheckedFirst    == Old   \* a commit is refused before its member is looked at
HeartbeatsInPreparing   == Version # "0.10.0"  \* heartbeats count in PreparingRebalance
EmptyGroupsDie          == Version = "0.10.0"  \* there is no Empty state (until KAFKA-2720)
FirstState             == IF EmptyGroupsDie THEN "Stable" ELSE "Empty"
LoadedCountAsStatic    == Version = "2.7"  \* whoever is loaded from the log (until KAFKA-10497)
ReplicasAreMapped  == Version # "0.10.0"  \* NOT_ENOUGH_REPLICAS of an append
CleansGroups       == Version # "0.10.0"  \* not only offsets (KAFKA-2720)
RebalanceTimeout   == IF Version = "0.10.0" THEN SessionTicks ELSE RebalanceTicks
RefusedGeneration  == IF Old THEN 0 ELSE -1
CompletingName     == IF Old THEN "AwaitingSync" ELSE "CompletingRebalance"
Newest == Version = "4.1"
EveryDelayGrows    == Newest   \* by who joins, not only that of the first generation
ExpiryEndsDelay    == Newest   \* if who expires is the last one waited for
SyncsExpire        == Newest   \* the time to sync is limited (KAFKA-12890)
SyncsRestartSessions      == ~Newest  \* a SyncGroup in Stable starts the session anew
AssignmentsStay    == Newest   \* and show in every state, until a generation fails
LeavesTogether     == Newest   \* a batch leaves before the group is looked at
AnyProtocolUntilChosen     == Newest   \* SyncGroup's protocol is right where none is chosen
OnlyMembersCommit       == Newest   \* commit to a group that has members
ReturnsNotFound       == Newest   \* of the group: OffsetCommit and DescribeGroups do
HidesUnpersisted     == Newest   \* a group shows once anything was written to its partition
ExpiresOnlyInStable     == Newest   \* nothing while a group rebalances (KAFKA-13636)
TransactionsKeepOffsets == Newest   \* nothing expires that a transaction has pending
FailuresAreRolledBack     == Newest   \* of appends, whole
WritesMarkers      == Newest   \* the coordinator does, if it is the group's, or nobody
TombstonesEndTransactions == Newest  \* what removes an offset removes those that are pending
RemovalsAreWritten == Newest   \* and if that fails, nothing is removed
TxnChecksMembers       == Newest   \* who commits in a transaction must be one, if it names anything
FilterIgnoresCase            == Newest   \* of the states that are asked for
FiltersTypes       == Newest   \* ListGroups does (KIP-848)
LastOffsetRemovesGroup == ~Newest  \* if it is Empty and the offset is deleted
ResponsesAreDeferred        == Newest   \* until all that is written is committed, which alone is read
ReplacementsAreNew  == Newest   \* static members: what is on its way for the one before reaches nobody
ChecksInstances    == Newest   \* a group.instance.id that stands for no member is refused
SkipsAssignment    == Newest   \* a leader that is back is told to (KIP-814)
ReplacementsStayNew    == ~Newest  \* if their first generation has not begun
RejectedJoinsComplete        == ~Newest  \* the join phase, not only one that is parked
RejectionRemovesMember  == Newest   \* with all that is its own, and nothing else
CommitsInTransactions == ~Old
ActiveCheckedFirst        == Version # "2.7"  \* a shutdown is told before an empty group id
RuntimeChecksLast == Newest   \* if it is not the group's: told last, and without the member's id
LoadingRestartsSync      == ~Newest  \* a SyncGroup while loading is told to join again
RecordsNewGroups   == Newest   \* as soon as a JoinGroup brings them into being
ShutdownUnloads    == Newest   \* and tells who waits
TimeoutIsUnavailable == Newest \* REQUEST_TIMED_OUT of an append

\* offsets.retention.minutes, in a space where anything expires.
RetentionTicks == NewMemberTicks

\* Appends that are incomplete at a time, or answers that wait.
MaxHeld == IF "held-appends" \notin Features THEN 0 ELSE IF ResponsesAreDeferred THEN 2 ELSE 1

=============================================================================

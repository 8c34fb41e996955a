------------------------------ MODULE Consumer ------------------------------
(* What a consumer of the classic protocol does, as Kafka's Java client has it *)
(* in 2.7 and 4.1: the coordinator of the group, which the client has.         *)
(*                                                                             *)
(* A step is a record of the variables, which operators change one after the   *)
(* other. They have the names of the methods that they transcribe. Comments    *)
(* cite Kafka's source, at tag 2.7.2 unless they name 4.1, which is tag 4.1.2: *)
(* AC is AbstractCoordinator.java, CC ConsumerCoordinator.java, KC             *)
(* KafkaConsumer.java, and CKC ClassicKafkaConsumer.java.                      *)
EXTENDS Integers, Sequences

CONSTANTS
  Version,      \* of the client: "2.7" or "4.1"
  Cooperative,  \* whether its assignors follow the cooperative protocol
  Static,       \* whether it has a group.instance.id
  Assignments,  \* sets of partitions, with which SyncGroup can be answered
  Generations   \* the limit of generations of the group

NoMember     == ""   \* no member id
NoGeneration == -1

\* What differs between the versions.
Newest         == Version = "4.1"
\* ILLEGAL_GENERATION does not reset the member id (from 3.2 on). 4.1 AC:888,1278 CC:1445
KeepsMemberId  == Newest
\* REBALANCE_IN_PROGRESS is an expected answer to JoinGroup. 4.1 AC:741
RetriesJoin    == Newest
\* One of generation and member id is enough to say that both were reset. CC:686, 4.1 CC:812
EitherIsReset  == Newest

\* A request in flight, with the member id and the generation when it was sent. waited is that of a
\* synchronous commit.
NoRequest == [api |-> "", memberId |-> NoMember, generation |-> NoGeneration, waited |-> FALSE]

\* Something that the consumer does: it sends a request, or calls or fails the application.
Event(name) == [name |-> name, memberId |-> NoMember, generation |-> NoGeneration,
                leader |-> FALSE, partitions |-> {}, error |-> ""]

\* Record the id of a rule that the step applies.
Apply(s, rule) == [s EXCEPT !.rules = Append(@, rule)]
Do(s, event)   == [s EXCEPT !.events = Append(@, event)]

Called(s, name, partitions) == Do(s, [Event(name) EXCEPT !.partitions = partitions])
Raise(s, kind)  == Do(s, [Event("poll raises an error") EXCEPT !.error = kind])
GiveUp(s)       == [s EXCEPT !.application = "has to close the consumer"]

Send(s, event, waited) ==
  LET e == [event EXCEPT !.memberId = s.memberId]
  IN [Do(s, IF e.name = "JoinGroup" THEN e ELSE [e EXCEPT !.generation = s.generation]) EXCEPT
        !.sent = Append(@, [api |-> e.name, memberId |-> s.memberId,
                            generation |-> s.generation, waited |-> waited])]

Awaits(s, api) == \E i \in DOMAIN s.sent : s.sent[i].api = api
Joining(s)     == Awaits(s, "JoinGroup") \/ Awaits(s, "SyncGroup")  \* its joinFuture. AC:499
Polls(s)       == s.application \in {"polls", "waits in commitSync"}

RebalanceInProgress(s) == s.phase \in {"PREPARING_REBALANCE", "COMPLETING_REBALANCE"}  \* AC:954

\* The answered request was sent with the present member id and generation. AC:1183. The protocol,
\* which Java compares too, is the same in one generation.
GenerationUnchanged(s) ==
  s.memberId = s.answered.memberId /\ s.generation = s.answered.generation

RequestRejoin(s) == [s EXCEPT !.rejoin = TRUE]  \* AC:985

\* AC:962,967; 4.1 AC:1058,1071
ResetStateAndRejoin(s, resetsMemberId) ==
  RequestRejoin([s EXCEPT !.phase = "UNJOINED", !.generation = NoGeneration, !.prepare = TRUE,
                          !.memberId = IF resetsMemberId THEN NoMember ELSE @])
ResetOnResponseError(s, error) ==
  ResetStateAndRejoin(s, ~(KeepsMemberId /\ error = "ILLEGAL_GENERATION"))

\* A commit ends; after commitSync the application polls again. CC:940, 1007
EndCommit(s, name, kind) ==
  LET t == Do(s, [Event(name) EXCEPT !.error = kind])
  IN IF s.answered.waited THEN [t EXCEPT !.application = "polls"] ELSE t
FailCommit(s, kind) == EndCommit(s, "the commit fails", kind)

\* An error that is retriable: commitSync sends the commit again. CC:943, 1019
RetryCommit(s) == IF s.answered.waited THEN s ELSE FailCommit(s, "retriable")

\* A request in flight fails with DisconnectException, which is retriable. AC:459, 1164
Disconnected(s, request) ==
  IF request.api = "OffsetCommit" THEN RetryCommit([s EXCEPT !.answered = request])
  ELSE IF request.api \in {"JoinGroup", "SyncGroup"} THEN RequestRejoin(s)
  ELSE s

RECURSIVE DisconnectedAll(_, _)
DisconnectedAll(s, requests) ==
  IF requests = <<>> THEN s
  ELSE DisconnectedAll(Disconnected(s, Head(requests)), Tail(requests))

\* AC:907
MarkCoordinatorUnknown(s) ==
  LET t == DisconnectedAll([s EXCEPT !.coordinator = FALSE, !.sent = <<>>], s.sent)
  IN [t EXCEPT !.answered = s.answered]

\* The consumer owns nothing any more; the listener is called if it owned something.
Drop(s, callback) == [Called(s, callback, s.owned) EXCEPT !.owned = {}]

\* CC:735. Java 2.7 asks whether the generation is the object of a reset one, which it is not after
\* MEMBER_ID_REQUIRED; but then a rebalance is in progress.
OnLeavePrepare(s) ==
  IF s.owned = {} THEN s                                                                \* CC:745
  ELSE IF \/ s.generation = NoGeneration \/ s.memberId = NoMember
          \/ RebalanceInProgress(s)                                                     \* CC:747
  THEN Drop(Apply(s, "leave/lost"), "onPartitionsLost")
  ELSE Drop(Apply(s, "leave/revoked"), "onPartitionsRevoked")                           \* CC:750

\* AC:1031; 4.1 AC:1170. No answer to LeaveGroup has an effect.
MaybeLeaveGroup(s) ==
  LET left(t) == ResetStateAndRejoin(t, TRUE)
  IN IF Static THEN left(Apply(s, "leave/static"))                                      \* AC:1037
     ELSE IF s.coordinator /\ s.phase # "UNJOINED" /\ s.memberId # NoMember             \* AC:1037
     THEN left(Do(Apply(s, "leave/sent"),
                  [Event("LeaveGroup") EXCEPT !.memberId = s.memberId]))
     ELSE left(Apply(s, "leave/not-needed"))

\* CC:1089
SendOffsetCommit(s, waited) ==
  IF s.phase = "STABLE"                                                                 \* CC:1127
  THEN Send(Apply(s, "commit/sent"), Event("OffsetCommit"), waited)
  ELSE IF RebalanceInProgress(s)                                                        \* CC:1132
  THEN FailCommit(Apply(s, "commit/in-rebalance"), "rebalance in progress")
  ELSE FailCommit(Apply(s, "commit/not-a-member"), "no longer a member")                \* CC:1139

\* CC:673. Of no partitions, Java calls the listener of an eager consumer too, with an empty
\* collection, which is not an event here.
OnJoinPrepare(s) ==
  LET t == [s EXCEPT !.prepare = FALSE]                                                 \* AC:421
      isReset == IF EitherIsReset
                 THEN s.generation = NoGeneration \/ s.memberId = NoMember           \* 4.1 CC:812
                 ELSE s.generation = NoGeneration /\ s.memberId = NoMember              \* CC:686
  IN IF s.owned = {} \/ (~isReset /\ Cooperative) THEN Apply(t, "poll/kept")            \* CC:708
     ELSE IF isReset THEN Drop(Apply(t, "poll/lost"), "onPartitionsLost")               \* CC:693
     ELSE Drop(Apply(t, "poll/revoked"), "onPartitionsRevoked")                         \* CC:702

\* AC:495
InitiateJoinGroup(s) ==
  Send([Apply(s, "poll/join") EXCEPT !.phase = "PREPARING_REBALANCE"],
       [Event("JoinGroup") EXCEPT !.partitions = s.owned], FALSE)

\* What the application's thread does until it waits: poll in a loop, or commitSync. CC:466, 993
RECURSIVE GoOn(_)
GoOn(s) ==
  IF ~Polls(s) THEN s
  ELSE IF ~s.coordinator /\ s.finding THEN s                                            \* AC:278
  ELSE IF ~s.coordinator                                                                \* AC:244
  THEN GoOn([Do(Apply(s, "poll/find"), Event("FindCoordinator")) EXCEPT !.finding = TRUE])
  ELSE IF s.application = "waits in commitSync"
  THEN IF Awaits(s, "OffsetCommit") THEN s
       ELSE GoOn(SendOffsetCommit([Apply(s, "poll/commit-again") EXCEPT
                                     !.answered.waited = TRUE], TRUE))                  \* CC:1004
  ELSE IF ~(s.rejoin \/ Joining(s)) THEN s                                              \* AC:302
  ELSE IF s.prepare THEN GoOn(OnJoinPrepare(s))                                         \* AC:418
  ELSE IF Joining(s) THEN s                                                             \* AC:499
  ELSE GoOn(InitiateJoinGroup(s))                                                       \* AC:425

\* CC:345. SyncGroup has a new assignment; the consumer prepares before its next JoinGroup. AC:456
OnJoinComplete(s, assigned) ==
  LET revoked == s.owned \ assigned
      t == [s EXCEPT !.phase = "STABLE", !.rejoin = FALSE, !.prepare = TRUE]            \* AC:757
      u == IF Cooperative /\ revoked # {}                                               \* CC:404
           THEN RequestRejoin(Called(Apply(t, "sync/revoked"), "onPartitionsRevoked", revoked))
           ELSE Apply(t, "sync/assigned")
  IN Called([u EXCEPT !.owned = assigned], "onPartitionsAssigned", assigned \ s.owned)  \* CC:430

=============================================================================

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
  AutoCommit,   \* enable.auto.commit
  CommitsEarly, \* whether the application commits while the coordinator is unknown, too
  Returns,      \* whether its broker's JoinGroup can have skipAssignment: KIP-814
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
\* The application waits in poll for the commit before a join; the generation when it began decides
\* which partitions are lost. CC:676, AC:422
WaitsInPoll    == ~Newest

\* A request in flight, with the member id and the generation when it was sent. The application, or
\* onJoinPrepare in 4.1, waits for a commit that is waited. An automatic one is the consumer's own.
NoRequest == [api |-> "", memberId |-> NoMember, generation |-> NoGeneration, waited |-> FALSE,
              automatic |-> FALSE]

\* Something that the consumer does: it sends a request, or calls or fails the application.
Event(name) == [name |-> name, memberId |-> NoMember, generation |-> NoGeneration,
                leader |-> FALSE, partitions |-> {}, error |-> ""]

\* Record the id of a rule that the step applies.
Apply(s, rule) == [s EXCEPT !.rules = Append(@, rule)]
Do(s, event)   == [s EXCEPT !.events = Append(@, event)]

Called(s, name, partitions) == Do(s, [Event(name) EXCEPT !.partitions = partitions])
Raise(s, kind)  == Do(s, [Event("poll raises an error") EXCEPT !.error = kind])
GiveUp(s)       == [s EXCEPT !.application = "has to close the consumer"]

SendRequest(s, event, waited, automatic) ==
  LET e == [event EXCEPT !.memberId = s.memberId]
  IN [Do(s, IF e.name = "JoinGroup" THEN e ELSE [e EXCEPT !.generation = s.generation]) EXCEPT
        !.sent = Append(@, [api |-> e.name, memberId |-> s.memberId, generation |-> s.generation,
                            waited |-> waited, automatic |-> automatic])]
Send(s, event) == SendRequest(s, event, FALSE, FALSE)
SendCommit(s, waited, automatic) == SendRequest(s, Event("OffsetCommit"), waited, automatic)

Awaits(s, api) == \E i \in DOMAIN s.sent : s.sent[i].api = api
Joining(s)     == Awaits(s, "JoinGroup") \/ Awaits(s, "SyncGroup")  \* its joinFuture. AC:499
AwaitsWaited(s) == \E i \in DOMAIN s.sent : s.sent[i].waited
WaitsInCall(s) == s.application \in {"waits in commitSync", "waits in poll for a commit",
                                     "waits in close for a commit"}
Drains(s)      == s.application = "waits in close for the coordinator"
Polls(s)       == s.application = "polls" \/ WaitsInCall(s) \/ Drains(s)

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

\* A callback is called in a poll, or when a commit that the application waits for has a result.
\* CC:469, 897, 1010
InvokeCallback(s, completed) ==
  LET failed == completed # "the commit succeeds"
  IN Do(s, IF failed THEN [Event("the commit fails") EXCEPT !.error = completed]
           ELSE Event(completed))
InvokeCompleted(s) ==
  IF s.completed = "" THEN s ELSE InvokeCallback([s EXCEPT !.completed = ""], s.completed)
Complete(s, completed) ==
  IF s.application = "waits in poll for a commit" \/ Drains(s)
  THEN [s EXCEPT !.completed = completed]
  ELSE InvokeCallback(s, completed)

\* The commit before a join, or in close, has ended: an error of it is only logged. CC:1066
AutoCommitEnds(s) ==
  [InvokeCompleted(s) EXCEPT
     !.stage = "committed",
     !.application = IF @ = "waits in poll for a commit" THEN "polls" ELSE @]

\* A commit ends; after commitSync the application polls again. CC:940, 1007, 1041
EndCommit(s, completed) ==
  IF s.answered.automatic THEN IF s.answered.waited THEN AutoCommitEnds(s) ELSE s
  ELSE IF s.answered.waited THEN [Complete(s, completed) EXCEPT !.application = "polls"]
  ELSE Complete(s, completed)
FailCommit(s, kind) == EndCommit(s, kind)

\* An error that is retriable: a commit that someone waits for is sent again. CC:943, 1019. So is an
\* automatic one, CC:1046, but a member that has joined again restarts the interval. CC:425
RetryCommit(s) ==
  IF s.answered.waited THEN IF s.answered.automatic THEN InvokeCompleted(s) ELSE s
  ELSE IF s.answered.automatic THEN [s EXCEPT !.due = ~s.rejoin]
  ELSE Complete(s, "retriable")

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
SendOffsetCommit(s, waited, automatic) ==
  LET failed == [s EXCEPT !.answered.waited = waited, !.answered.automatic = automatic]
  IN IF s.phase = "STABLE"                                                              \* CC:1127
     THEN SendCommit(Apply(s, "commit/sent"), waited, automatic)
     ELSE IF RebalanceInProgress(s)                                                     \* CC:1132
     THEN FailCommit(Apply(failed, "commit/in-rebalance"), "rebalance in progress")
     ELSE FailCommit(Apply(failed, "commit/not-a-member"), "no longer a member")        \* CC:1139

\* An asynchronous commit waits for the lookup of the coordinator, and has no second one. CC:932
CommitOffsetsAsync(s) ==
  IF s.coordinator THEN SendOffsetCommit(Apply(s, "application/commits"), FALSE, FALSE)
  ELSE [Apply(s, "application/commits-later") EXCEPT !.pending = TRUE]

\* The lookup has failed, with whichever error. CC:943
FailPending(s, rule) ==
  Complete([Apply(s, rule) EXCEPT !.pending = FALSE], "retriable")

\* It commits first. A commit of no partitions, or of one that is not STABLE, has a result at once.
\* CC:676, 1093, 1127. In 4.1 each poll prepares again, until the commit has ended. 4.1 CC:768
CommitBeforeJoin(s) ==
  LET t == SendCommit(Apply(s, "poll/commit-before-join"), TRUE, TRUE)
  IN IF WaitsInPoll
     THEN [t EXCEPT !.application = "waits in poll for a commit", !.prepare = FALSE]    \* AC:421
     ELSE t

\* CC:673. Of no partitions, Java calls the listener of an eager consumer too, with an empty
\* collection, which is not an event here.
Prepare(s) ==
  LET waited == WaitsInPoll /\ s.stage = "committed"
      t == [s EXCEPT !.stage = "prepared",
                     !.prepare = IF waited THEN @ ELSE FALSE]                           \* AC:421
      isReset == IF EitherIsReset
                 THEN s.generation = NoGeneration \/ s.memberId = NoMember           \* 4.1 CC:812
                 ELSE ~waited /\ s.generation = NoGeneration /\ s.memberId = NoMember   \* CC:686
  IN IF s.owned = {} \/ (~isReset /\ Cooperative) THEN Apply(t, "poll/kept")            \* CC:708
     ELSE IF isReset THEN Drop(Apply(t, "poll/lost"), "onPartitionsLost")               \* CC:693
     ELSE Drop(Apply(t, "poll/revoked"), "onPartitionsRevoked")                         \* CC:702

OnJoinPrepare(s) ==
  IF AutoCommit /\ s.owned # {} /\ s.phase = "STABLE" THEN CommitBeforeJoin(s) ELSE Prepare(s)

\* AC:495. The coordinator can be unknown since the commit before it. AC:536
InitiateJoinGroup(s) ==
  LET t == [s EXCEPT !.phase = "PREPARING_REBALANCE", !.stage = ""]
  IN IF s.coordinator
     THEN Send(Apply(t, "poll/join"), [Event("JoinGroup") EXCEPT !.partitions = s.owned])
     ELSE Apply(t, "poll/join-without-coordinator")

\* AC:1004
Leave(s) == [MaybeLeaveGroup(OnLeavePrepare(s)) EXCEPT !.application = "has closed the consumer"]

\* CC:1027
MaybeAutoCommitOffsetsAsync(s) ==
  LET t == [s EXCEPT !.due = FALSE]
  IN IF s.owned = {} THEN Apply(t, "poll/commits-nothing")                              \* CC:1093
     ELSE SendCommit(Apply(t, "poll/commit"), FALSE, TRUE)

\* What the application's thread does until it waits: poll in a loop, or commitSync. CC:466, 993
\* A step that ends the commit before a join goes on with onJoinPrepare; stage says how far it is.
RECURSIVE GoOn(_)
GoOn(s) ==
  IF ~Polls(s) THEN s
  ELSE IF s.stage = "committed"
  THEN IF s.application = "waits in close for a commit"
       THEN Leave(Apply(s, "poll/close"))                                               \* CC:900
       ELSE GoOn(Prepare(s))
  ELSE IF s.stage = "prepared"
  THEN GoOn(IF Joining(s) THEN [s EXCEPT !.stage = ""] ELSE InitiateJoinGroup(s))       \* AC:425
  ELSE IF ~s.coordinator /\ s.finding THEN s                                            \* AC:278
  ELSE IF ~s.coordinator                                                                \* AC:244
  THEN GoOn([Do(Apply(s, "poll/find"), Event("FindCoordinator")) EXCEPT !.finding = TRUE])
  ELSE IF Drains(s)                                                                     \* CC:897
  THEN Leave(InvokeCompleted(Apply(s, "poll/close-with-coordinator")))
  ELSE IF AwaitsWaited(s) THEN s
  ELSE IF WaitsInCall(s)
  THEN GoOn(SendOffsetCommit(Apply(s, "poll/commit-again"), TRUE,
                             s.application # "waits in commitSync"))                    \* CC:1004
  ELSE IF ~(s.rejoin \/ Joining(s))                                                     \* AC:302
  THEN IF s.due THEN GoOn(MaybeAutoCommitOffsetsAsync(s)) ELSE s                        \* CC:529
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

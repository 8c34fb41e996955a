------------------------------- MODULE Member -------------------------------
(* A member of a group: one consumer of the classic protocol, as Kafka's Java  *)
(* client 2.7 and 4.1 has it, and any coordinator. Each process of the         *)
(* algorithm is an API that is answered, the application, or time. TLC and the *)
(* Python explorer must find the same states, transitions, events and rules.   *)
(*                                                                             *)
(* After each input the consumer goes on until it waits (GoOn). Apply(s, id)   *)
(* records the id of a rule; the ids are those of the Python tables. Consumer  *)
(* explains the comments that cite lines.                                      *)
EXTENDS Answers

Given == "m"  \* the member id that a coordinator gives

\* Something that happens to the consumer.
Input(name) == [name |-> name, error |-> "", memberId |-> NoMember, generation |-> NoGeneration,
                leader |-> FALSE, partitions |-> {}, skips |-> FALSE]
NoInput     == Input("")
Answer(api, error) == [Input(api) EXCEPT !.error = error]

\* The errors that a coordinator answers.
Errors(api) ==
  CASE api = "JoinGroup" ->
         {"COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR",
          "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS", "INCONSISTENT_GROUP_PROTOCOL",
          "GROUP_AUTHORIZATION_FAILED", "GROUP_MAX_SIZE_REACHED", "UNKNOWN_SERVER_ERROR"}
    [] api \in {"SyncGroup", "Heartbeat"} ->
         {"REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "NOT_COORDINATOR",
          "COORDINATOR_NOT_AVAILABLE", "GROUP_AUTHORIZATION_FAILED", "UNKNOWN_SERVER_ERROR"}
    [] api = "OffsetCommit" ->
         {"REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "NOT_COORDINATOR",
          "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "REQUEST_TIMED_OUT",
          "UNKNOWN_TOPIC_OR_PARTITION", "OFFSET_METADATA_TOO_LARGE",
          "GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED", "UNKNOWN_SERVER_ERROR"}

(*--algorithm Member

variables
  application = "has not subscribed yet",  \* what it does
  coordinator = FALSE,         \* whether the coordinator is known
  finding     = FALSE,         \* whether FindCoordinator is not answered yet
  phase       = "UNJOINED",    \* Java's MemberState. AC:119
  memberId    = NoMember,      \* that JoinGroup will have
  generation  = NoGeneration,  \* when it joined, or reset
  rejoin      = TRUE,          \* whether it has to join: rejoinNeeded. AC:136
  prepare     = TRUE,          \* whether onJoinPrepare comes first: needsJoinPrepare. AC:137
  owned       = {},            \* the assigned partitions
  sent        = <<>>,          \* requests in flight, the oldest first
  latest      = 0,             \* the latest generation of the group
  due         = FALSE,         \* whether an automatic commit is due: nextAutoCommitTimer. CC:108
  completed   = "",            \* a result whose callback is not called: completedOffsetCommits. CC:92
  pending     = FALSE,         \* whether a commit waits for the coordinator: pendingAsyncCommits. CC:98
  before      = <<>>,          \* the state before the last step
  given       = NoInput,       \* the input of the last step
  events      = <<>>,          \* what the consumer did in the last step
  rules       = <<>>;          \* the ids of the rules that the last step applied

define
  \* The VIEW of the instances: states that differ only in the last step are the same.
  State == <<application, coordinator, finding, phase, memberId, generation, rejoin, prepare,
             owned, sent, latest, due, completed, pending>>
  Fields == [application |-> application, coordinator |-> coordinator, finding |-> finding,
             phase |-> phase, memberId |-> memberId, generation |-> generation,
             rejoin |-> rejoin, prepare |-> prepare, owned |-> owned, sent |-> sent,
             latest |-> latest, due |-> due, completed |-> completed,
             pending |-> pending]
  Now == [application |-> application, coordinator |-> coordinator, finding |-> finding,
          phase |-> phase, memberId |-> memberId, generation |-> generation,
          rejoin |-> rejoin, prepare |-> prepare, owned |-> owned, sent |-> sent,
          latest |-> latest, due |-> due, completed |-> completed,
          pending |-> pending, stage |-> "",
          answered |-> NoRequest, events |-> <<>>, rules |-> <<>>]
  Applied(rule) == Apply(Now, rule)

  \* Otherwise it reads no answers, or nothing that they do can be seen.
  Listens == Polls(Now) \/ application \in {"has not subscribed yet", "has unsubscribed"}
  \* A broker answers the requests of a connection in their order.
  IsOldest(api) == Listens /\ sent # <<>> /\ sent[1].api = api
  Answered == [Now EXCEPT !.answered = sent[1], !.sent = Tail(@)]
  \* The heartbeat thread leaves FENCED_INSTANCE_ID to the next poll, and a commit in flight hides
  \* which of them it was.
  \* What the next poll does after an automatic commit with this error is not specified.
  IsHidden == \/ sent[1].api = "Heartbeat" /\ Awaits(Now, "OffsetCommit")
              \/ sent[1].api = "OffsetCommit" /\ AutoCommit
  \* A heartbeat's thread asks, too, and drops the error: the application sees it or not.
  FindErrors == {"NONE", "COORDINATOR_NOT_AVAILABLE"} \cup
                (IF phase \in {"UNJOINED", "PREPARING_REBALANCE"}
                 THEN {"GROUP_AUTHORIZATION_FAILED"} ELSE {})
  Replies(api) == {Answer(api, error) : error \in
                     Errors(api) \cup (IF Static /\ ~IsHidden THEN {"FENCED_INSTANCE_ID"} ELSE {})}
  JoinReplies ==
    LET id == IF sent[1].memberId = NoMember THEN Given ELSE sent[1].memberId
        joined(leads) == [Answer("JoinGroup", "NONE") EXCEPT
                            !.memberId = id, !.generation = latest + 1, !.leader = leads]
    IN Replies("JoinGroup")
       \cup (IF latest < Generations THEN {joined(TRUE), joined(FALSE)} ELSE {})
       \cup (IF Returns /\ latest < Generations
             THEN {[joined(TRUE) EXCEPT !.skips = TRUE]} ELSE {})
       \cup {[Answer("JoinGroup", "MEMBER_ID_REQUIRED") EXCEPT !.memberId = id]}
  SyncReplies == Replies("SyncGroup") \cup
                 {[Answer("SyncGroup", "NONE") EXCEPT !.partitions = a] : a \in Assignments}

  Active == application = "polls" /\ coordinator
  \* The heartbeat thread does not work in the other states. AC:122, 1363
  Heartbeats == Active /\ phase \in {"COMPLETING_REBALANCE", "STABLE"}
  Only(api) == \A i \in DOMAIN sent : sent[i].api = api
end define

\* An input happens; the step and what follows until the consumer waits.
macro Finish(input, step) begin
  before := Fields;
  given  := input;
  with t \in {GoOn(step)} do  \* a set, which TLC evaluates once
    application := t.application;
    coordinator := t.coordinator;
    finding     := t.finding;
    phase       := t.phase;
    memberId    := t.memberId;
    generation  := t.generation;
    rejoin      := t.rejoin;
    prepare     := t.prepare;
    owned       := t.owned;
    sent        := t.sent;
    latest      := t.latest;
    due         := t.due;
    completed   := t.completed;
    pending     := t.pending;
    events      := t.events;
    rules       := t.rules;
  end with;
end macro

process FindCoordinator = "FindCoordinator"
begin find_coordinator:
  while TRUE do
    await Listens /\ finding;
    with r \in {Answer("FindCoordinator", e) : e \in FindErrors} do
      Finish(r, OnFindCoordinator([Now EXCEPT !.finding = FALSE], r));
    end with;
  end while;
end process

process JoinGroup = "JoinGroup"
begin join_group:
  while TRUE do
    await IsOldest("JoinGroup");
    with r \in JoinReplies do
      Finish(r, OnJoinGroup(Answered, r));
    end with;
  end while;
end process

process SyncGroup = "SyncGroup"
begin sync_group:
  while TRUE do
    await IsOldest("SyncGroup");
    with r \in SyncReplies do
      Finish(r, OnSyncGroup(Answered, r));
    end with;
  end while;
end process

process Heartbeat = "Heartbeat"
begin heartbeat:
  while TRUE do
    await IsOldest("Heartbeat");
    with r \in Replies("Heartbeat") \cup {Answer("Heartbeat", "NONE")} do
      Finish(r, OnHeartbeat(Answered, r));
    end with;
  end while;
end process

process OffsetCommit = "OffsetCommit"
begin offset_commit:
  while TRUE do
    await IsOldest("OffsetCommit");
    with r \in Replies("OffsetCommit") \cup {Answer("OffsetCommit", "NONE")} do
      Finish(r, OnOffsetCommit(Answered, r));
    end with;
  end while;
end process

\* It subscribes, or polls again after a pause.
process Poll = "Poll"
begin poll:  \* KC:944
  while TRUE do
    if application \in {"has not subscribed yet", "has unsubscribed"} then
      Finish(Input("the application subscribes"),
             [Applied("application/polls") EXCEPT !.application = "polls"]);
    else
      await application = "does not poll";
      Finish(Input("the application polls again"),
             [Applied("application/polls") EXCEPT !.application = "polls"]);
    end if;
  end while;
end process

process Unsubscribe = "Unsubscribe"
begin unsubscribe:  \* KC:1066
  while TRUE do
    await application = "polls" /\ ~finding /\ sent = <<>>;
    Finish(Input("the application unsubscribes"),
           [MaybeLeaveGroup(OnLeavePrepare(Applied("application/unsubscribes"))) EXCEPT
              !.application = "has unsubscribed"]);
  end while;
end process

process Close = "Close"
begin close:  \* AC:1012
  while TRUE do
    await /\ application \in {"polls", "has to close the consumer", "has unsubscribed"}
          /\ Only("Heartbeat");
    if AutoCommit /\ owned # {} then  \* CC:893
      Finish(Input("the application closes the consumer"),
             [Applied("application/commits-and-closes") EXCEPT
                !.application = "waits in close for a commit"]);
    elsif pending then  \* CC:894
      Finish(Input("the application closes the consumer"),
             [Applied("application/closes-and-waits") EXCEPT
                !.application = "waits in close for the coordinator"]);
    else
      Finish(Input("the application closes the consumer"), Leave(Applied("application/closes")));
    end if;
  end while;
end process

\* Asynchronously or synchronously.
process Commit = "Commit"
begin commit:  \* CC:920, 993
  while TRUE do
    await /\ application = "polls" /\ (~coordinator => CommitsEarly)
          /\ owned # {} /\ ~Awaits(Now, "OffsetCommit") /\ ~pending;
    either
      Finish(Input("the application commits asynchronously"),
             CommitOffsetsAsync(Now));
    or
      Finish(Input("the application commits synchronously"),
             [Applied("application/commits-synchronously") EXCEPT
                !.application = "waits in commitSync"]);
    end either;
  end while;
end process

process HeartbeatInterval = "HeartbeatInterval"
begin heartbeat_interval:  \* AC:1400
  while TRUE do
    await Heartbeats /\ ~Awaits(Now, "Heartbeat");
    Finish(Input("heartbeat.interval.ms passes"),
           Send(Applied("time/heartbeat"), Event("Heartbeat")));
  end while;
end process

process AutoCommitInterval = "AutoCommitInterval"
begin auto_commit_interval:  \* CC:1030
  while TRUE do
    await /\ AutoCommit /\ Active /\ phase = "STABLE" /\ ~rejoin
          /\ ~Awaits(Now, "OffsetCommit");
    Finish(Input("auto.commit.interval.ms passes"),
           [Applied("time/auto-commit") EXCEPT !.due = TRUE]);
  end while;
end process

\* The heartbeat thread leaves the group; the next poll calls the listener.
process PollInterval = "PollInterval"
begin poll_interval:  \* AC:1393
  while TRUE do
    await Heartbeats /\ Only("SyncGroup");
    Finish(Input("max.poll.interval.ms passes without a poll"),
           [MaybeLeaveGroup(Applied("time/poll-interval")) EXCEPT
              !.application = "does not poll"]);
  end while;
end process

process SessionTimeout = "SessionTimeout"
begin session_timeout:  \* AC:1380
  while TRUE do
    await Heartbeats /\ sent # <<>> /\ Only("Heartbeat");
    Finish(Input("session.timeout.ms passes without an answer to a heartbeat"),
           MarkCoordinatorUnknown(Applied("time/session-timeout")));
  end while;
end process

process Disconnect = "Disconnect"
begin disconnect:  \* AC:1164
  while TRUE do
    await Polls(Now) /\ sent # <<>>;
    Finish(Input("the connection to the coordinator breaks"),
           MarkCoordinatorUnknown(Applied("time/disconnected")));
  end while;
end process

end algorithm; *)
\* BEGIN TRANSLATION - the hash of the PCal code: PCal-3950bc5904d77ae779bf9514378a6ab8
VARIABLES application, coordinator, finding, phase, memberId, generation, 
          rejoin, prepare, owned, sent, latest, due, completed, pending, 
          before, given, events, rules

(* define statement *)
State == <<application, coordinator, finding, phase, memberId, generation, rejoin, prepare,
           owned, sent, latest, due, completed, pending>>
Fields == [application |-> application, coordinator |-> coordinator, finding |-> finding,
           phase |-> phase, memberId |-> memberId, generation |-> generation,
           rejoin |-> rejoin, prepare |-> prepare, owned |-> owned, sent |-> sent,
           latest |-> latest, due |-> due, completed |-> completed,
           pending |-> pending]
Now == [application |-> application, coordinator |-> coordinator, finding |-> finding,
        phase |-> phase, memberId |-> memberId, generation |-> generation,
        rejoin |-> rejoin, prepare |-> prepare, owned |-> owned, sent |-> sent,
        latest |-> latest, due |-> due, completed |-> completed,
        pending |-> pending, stage |-> "",
        answered |-> NoRequest, events |-> <<>>, rules |-> <<>>]
Applied(rule) == Apply(Now, rule)


Listens == Polls(Now) \/ application \in {"has not subscribed yet", "has unsubscribed"}

IsOldest(api) == Listens /\ sent # <<>> /\ sent[1].api = api
Answered == [Now EXCEPT !.answered = sent[1], !.sent = Tail(@)]



IsHidden == \/ sent[1].api = "Heartbeat" /\ Awaits(Now, "OffsetCommit")
            \/ sent[1].api = "OffsetCommit" /\ AutoCommit

FindErrors == {"NONE", "COORDINATOR_NOT_AVAILABLE"} \cup
              (IF phase \in {"UNJOINED", "PREPARING_REBALANCE"}
               THEN {"GROUP_AUTHORIZATION_FAILED"} ELSE {})
Replies(api) == {Answer(api, error) : error \in
                   Errors(api) \cup (IF Static /\ ~IsHidden THEN {"FENCED_INSTANCE_ID"} ELSE {})}
JoinReplies ==
  LET id == IF sent[1].memberId = NoMember THEN Given ELSE sent[1].memberId
      joined(leads) == [Answer("JoinGroup", "NONE") EXCEPT
                          !.memberId = id, !.generation = latest + 1, !.leader = leads]
  IN Replies("JoinGroup")
     \cup (IF latest < Generations THEN {joined(TRUE), joined(FALSE)} ELSE {})
     \cup (IF Returns /\ latest < Generations
           THEN {[joined(TRUE) EXCEPT !.skips = TRUE]} ELSE {})
     \cup {[Answer("JoinGroup", "MEMBER_ID_REQUIRED") EXCEPT !.memberId = id]}
SyncReplies == Replies("SyncGroup") \cup
               {[Answer("SyncGroup", "NONE") EXCEPT !.partitions = a] : a \in Assignments}

Active == application = "polls" /\ coordinator

Heartbeats == Active /\ phase \in {"COMPLETING_REBALANCE", "STABLE"}
Only(api) == \A i \in DOMAIN sent : sent[i].api = api


vars == << application, coordinator, finding, phase, memberId, generation, 
           rejoin, prepare, owned, sent, latest, due, completed, pending, 
           before, given, events, rules >>

ProcSet == {"FindCoordinator"} \cup {"JoinGroup"} \cup {"SyncGroup"} \cup {"Heartbeat"} \cup {"OffsetCommit"} \cup {"Poll"} \cup {"Unsubscribe"} \cup {"Close"} \cup {"Commit"} \cup {"HeartbeatInterval"} \cup {"AutoCommitInterval"} \cup {"PollInterval"} \cup {"SessionTimeout"} \cup {"Disconnect"}

Init == (* Global variables *)
        /\ application = "has not subscribed yet"
        /\ coordinator = FALSE
        /\ finding = FALSE
        /\ phase = "UNJOINED"
        /\ memberId = NoMember
        /\ generation = NoGeneration
        /\ rejoin = TRUE
        /\ prepare = TRUE
        /\ owned = {}
        /\ sent = <<>>
        /\ latest = 0
        /\ due = FALSE
        /\ completed = ""
        /\ pending = FALSE
        /\ before = <<>>
        /\ given = NoInput
        /\ events = <<>>
        /\ rules = <<>>

FindCoordinator == /\ Listens /\ finding
                   /\ \E r \in {Answer("FindCoordinator", e) : e \in FindErrors}:
                        /\ before' = Fields
                        /\ given' = r
                        /\ \E t \in {GoOn((OnFindCoordinator([Now EXCEPT !.finding = FALSE], r)))}:
                             /\ application' = t.application
                             /\ coordinator' = t.coordinator
                             /\ finding' = t.finding
                             /\ phase' = t.phase
                             /\ memberId' = t.memberId
                             /\ generation' = t.generation
                             /\ rejoin' = t.rejoin
                             /\ prepare' = t.prepare
                             /\ owned' = t.owned
                             /\ sent' = t.sent
                             /\ latest' = t.latest
                             /\ due' = t.due
                             /\ completed' = t.completed
                             /\ pending' = t.pending
                             /\ events' = t.events
                             /\ rules' = t.rules

JoinGroup == /\ IsOldest("JoinGroup")
             /\ \E r \in JoinReplies:
                  /\ before' = Fields
                  /\ given' = r
                  /\ \E t \in {GoOn((OnJoinGroup(Answered, r)))}:
                       /\ application' = t.application
                       /\ coordinator' = t.coordinator
                       /\ finding' = t.finding
                       /\ phase' = t.phase
                       /\ memberId' = t.memberId
                       /\ generation' = t.generation
                       /\ rejoin' = t.rejoin
                       /\ prepare' = t.prepare
                       /\ owned' = t.owned
                       /\ sent' = t.sent
                       /\ latest' = t.latest
                       /\ due' = t.due
                       /\ completed' = t.completed
                       /\ pending' = t.pending
                       /\ events' = t.events
                       /\ rules' = t.rules

SyncGroup == /\ IsOldest("SyncGroup")
             /\ \E r \in SyncReplies:
                  /\ before' = Fields
                  /\ given' = r
                  /\ \E t \in {GoOn((OnSyncGroup(Answered, r)))}:
                       /\ application' = t.application
                       /\ coordinator' = t.coordinator
                       /\ finding' = t.finding
                       /\ phase' = t.phase
                       /\ memberId' = t.memberId
                       /\ generation' = t.generation
                       /\ rejoin' = t.rejoin
                       /\ prepare' = t.prepare
                       /\ owned' = t.owned
                       /\ sent' = t.sent
                       /\ latest' = t.latest
                       /\ due' = t.due
                       /\ completed' = t.completed
                       /\ pending' = t.pending
                       /\ events' = t.events
                       /\ rules' = t.rules

Heartbeat == /\ IsOldest("Heartbeat")
             /\ \E r \in Replies("Heartbeat") \cup {Answer("Heartbeat", "NONE")}:
                  /\ before' = Fields
                  /\ given' = r
                  /\ \E t \in {GoOn((OnHeartbeat(Answered, r)))}:
                       /\ application' = t.application
                       /\ coordinator' = t.coordinator
                       /\ finding' = t.finding
                       /\ phase' = t.phase
                       /\ memberId' = t.memberId
                       /\ generation' = t.generation
                       /\ rejoin' = t.rejoin
                       /\ prepare' = t.prepare
                       /\ owned' = t.owned
                       /\ sent' = t.sent
                       /\ latest' = t.latest
                       /\ due' = t.due
                       /\ completed' = t.completed
                       /\ pending' = t.pending
                       /\ events' = t.events
                       /\ rules' = t.rules

OffsetCommit == /\ IsOldest("OffsetCommit")
                /\ \E r \in Replies("OffsetCommit") \cup {Answer("OffsetCommit", "NONE")}:
                     /\ before' = Fields
                     /\ given' = r
                     /\ \E t \in {GoOn((OnOffsetCommit(Answered, r)))}:
                          /\ application' = t.application
                          /\ coordinator' = t.coordinator
                          /\ finding' = t.finding
                          /\ phase' = t.phase
                          /\ memberId' = t.memberId
                          /\ generation' = t.generation
                          /\ rejoin' = t.rejoin
                          /\ prepare' = t.prepare
                          /\ owned' = t.owned
                          /\ sent' = t.sent
                          /\ latest' = t.latest
                          /\ due' = t.due
                          /\ completed' = t.completed
                          /\ pending' = t.pending
                          /\ events' = t.events
                          /\ rules' = t.rules

Poll == IF application \in {"has not subscribed yet", "has unsubscribed"}
           THEN /\ before' = Fields
                /\ given' = Input("the application subscribes")
                /\ \E t \in {GoOn(([Applied("application/polls") EXCEPT !.application = "polls"]))}:
                     /\ application' = t.application
                     /\ coordinator' = t.coordinator
                     /\ finding' = t.finding
                     /\ phase' = t.phase
                     /\ memberId' = t.memberId
                     /\ generation' = t.generation
                     /\ rejoin' = t.rejoin
                     /\ prepare' = t.prepare
                     /\ owned' = t.owned
                     /\ sent' = t.sent
                     /\ latest' = t.latest
                     /\ due' = t.due
                     /\ completed' = t.completed
                     /\ pending' = t.pending
                     /\ events' = t.events
                     /\ rules' = t.rules
           ELSE /\ application = "does not poll"
                /\ before' = Fields
                /\ given' = Input("the application polls again")
                /\ \E t \in {GoOn(([Applied("application/polls") EXCEPT !.application = "polls"]))}:
                     /\ application' = t.application
                     /\ coordinator' = t.coordinator
                     /\ finding' = t.finding
                     /\ phase' = t.phase
                     /\ memberId' = t.memberId
                     /\ generation' = t.generation
                     /\ rejoin' = t.rejoin
                     /\ prepare' = t.prepare
                     /\ owned' = t.owned
                     /\ sent' = t.sent
                     /\ latest' = t.latest
                     /\ due' = t.due
                     /\ completed' = t.completed
                     /\ pending' = t.pending
                     /\ events' = t.events
                     /\ rules' = t.rules

Unsubscribe == /\ application = "polls" /\ ~finding /\ sent = <<>>
               /\ before' = Fields
               /\ given' = Input("the application unsubscribes")
               /\ \E t \in {GoOn(([MaybeLeaveGroup(OnLeavePrepare(Applied("application/unsubscribes"))) EXCEPT
                                     !.application = "has unsubscribed"]))}:
                    /\ application' = t.application
                    /\ coordinator' = t.coordinator
                    /\ finding' = t.finding
                    /\ phase' = t.phase
                    /\ memberId' = t.memberId
                    /\ generation' = t.generation
                    /\ rejoin' = t.rejoin
                    /\ prepare' = t.prepare
                    /\ owned' = t.owned
                    /\ sent' = t.sent
                    /\ latest' = t.latest
                    /\ due' = t.due
                    /\ completed' = t.completed
                    /\ pending' = t.pending
                    /\ events' = t.events
                    /\ rules' = t.rules

Close == /\ /\ application \in {"polls", "has to close the consumer", "has unsubscribed"}
            /\ Only("Heartbeat")
         /\ IF AutoCommit /\ owned # {}
               THEN /\ before' = Fields
                    /\ given' = Input("the application closes the consumer")
                    /\ \E t \in {GoOn(([Applied("application/commits-and-closes") EXCEPT
                                          !.application = "waits in close for a commit"]))}:
                         /\ application' = t.application
                         /\ coordinator' = t.coordinator
                         /\ finding' = t.finding
                         /\ phase' = t.phase
                         /\ memberId' = t.memberId
                         /\ generation' = t.generation
                         /\ rejoin' = t.rejoin
                         /\ prepare' = t.prepare
                         /\ owned' = t.owned
                         /\ sent' = t.sent
                         /\ latest' = t.latest
                         /\ due' = t.due
                         /\ completed' = t.completed
                         /\ pending' = t.pending
                         /\ events' = t.events
                         /\ rules' = t.rules
               ELSE /\ IF pending
                          THEN /\ before' = Fields
                               /\ given' = Input("the application closes the consumer")
                               /\ \E t \in {GoOn(([Applied("application/closes-and-waits") EXCEPT
                                                     !.application = "waits in close for the coordinator"]))}:
                                    /\ application' = t.application
                                    /\ coordinator' = t.coordinator
                                    /\ finding' = t.finding
                                    /\ phase' = t.phase
                                    /\ memberId' = t.memberId
                                    /\ generation' = t.generation
                                    /\ rejoin' = t.rejoin
                                    /\ prepare' = t.prepare
                                    /\ owned' = t.owned
                                    /\ sent' = t.sent
                                    /\ latest' = t.latest
                                    /\ due' = t.due
                                    /\ completed' = t.completed
                                    /\ pending' = t.pending
                                    /\ events' = t.events
                                    /\ rules' = t.rules
                          ELSE /\ before' = Fields
                               /\ given' = Input("the application closes the consumer")
                               /\ \E t \in {GoOn((Leave(Applied("application/closes"))))}:
                                    /\ application' = t.application
                                    /\ coordinator' = t.coordinator
                                    /\ finding' = t.finding
                                    /\ phase' = t.phase
                                    /\ memberId' = t.memberId
                                    /\ generation' = t.generation
                                    /\ rejoin' = t.rejoin
                                    /\ prepare' = t.prepare
                                    /\ owned' = t.owned
                                    /\ sent' = t.sent
                                    /\ latest' = t.latest
                                    /\ due' = t.due
                                    /\ completed' = t.completed
                                    /\ pending' = t.pending
                                    /\ events' = t.events
                                    /\ rules' = t.rules

Commit == /\ /\ application = "polls" /\ (~coordinator => CommitsEarly)
             /\ owned # {} /\ ~Awaits(Now, "OffsetCommit") /\ ~pending
          /\ \/ /\ before' = Fields
                /\ given' = Input("the application commits asynchronously")
                /\ \E t \in {GoOn((CommitOffsetsAsync(Now)))}:
                     /\ application' = t.application
                     /\ coordinator' = t.coordinator
                     /\ finding' = t.finding
                     /\ phase' = t.phase
                     /\ memberId' = t.memberId
                     /\ generation' = t.generation
                     /\ rejoin' = t.rejoin
                     /\ prepare' = t.prepare
                     /\ owned' = t.owned
                     /\ sent' = t.sent
                     /\ latest' = t.latest
                     /\ due' = t.due
                     /\ completed' = t.completed
                     /\ pending' = t.pending
                     /\ events' = t.events
                     /\ rules' = t.rules
             \/ /\ before' = Fields
                /\ given' = Input("the application commits synchronously")
                /\ \E t \in {GoOn(([Applied("application/commits-synchronously") EXCEPT
                                      !.application = "waits in commitSync"]))}:
                     /\ application' = t.application
                     /\ coordinator' = t.coordinator
                     /\ finding' = t.finding
                     /\ phase' = t.phase
                     /\ memberId' = t.memberId
                     /\ generation' = t.generation
                     /\ rejoin' = t.rejoin
                     /\ prepare' = t.prepare
                     /\ owned' = t.owned
                     /\ sent' = t.sent
                     /\ latest' = t.latest
                     /\ due' = t.due
                     /\ completed' = t.completed
                     /\ pending' = t.pending
                     /\ events' = t.events
                     /\ rules' = t.rules

HeartbeatInterval == /\ Heartbeats /\ ~Awaits(Now, "Heartbeat")
                     /\ before' = Fields
                     /\ given' = Input("heartbeat.interval.ms passes")
                     /\ \E t \in {GoOn((Send(Applied("time/heartbeat"), Event("Heartbeat"))))}:
                          /\ application' = t.application
                          /\ coordinator' = t.coordinator
                          /\ finding' = t.finding
                          /\ phase' = t.phase
                          /\ memberId' = t.memberId
                          /\ generation' = t.generation
                          /\ rejoin' = t.rejoin
                          /\ prepare' = t.prepare
                          /\ owned' = t.owned
                          /\ sent' = t.sent
                          /\ latest' = t.latest
                          /\ due' = t.due
                          /\ completed' = t.completed
                          /\ pending' = t.pending
                          /\ events' = t.events
                          /\ rules' = t.rules

AutoCommitInterval == /\ /\ AutoCommit /\ Active /\ phase = "STABLE" /\ ~rejoin
                         /\ ~Awaits(Now, "OffsetCommit")
                      /\ before' = Fields
                      /\ given' = Input("auto.commit.interval.ms passes")
                      /\ \E t \in {GoOn(([Applied("time/auto-commit") EXCEPT !.due = TRUE]))}:
                           /\ application' = t.application
                           /\ coordinator' = t.coordinator
                           /\ finding' = t.finding
                           /\ phase' = t.phase
                           /\ memberId' = t.memberId
                           /\ generation' = t.generation
                           /\ rejoin' = t.rejoin
                           /\ prepare' = t.prepare
                           /\ owned' = t.owned
                           /\ sent' = t.sent
                           /\ latest' = t.latest
                           /\ due' = t.due
                           /\ completed' = t.completed
                           /\ pending' = t.pending
                           /\ events' = t.events
                           /\ rules' = t.rules

PollInterval == /\ Heartbeats /\ Only("SyncGroup")
                /\ before' = Fields
                /\ given' = Input("max.poll.interval.ms passes without a poll")
                /\ \E t \in {GoOn(([MaybeLeaveGroup(Applied("time/poll-interval")) EXCEPT
                                      !.application = "does not poll"]))}:
                     /\ application' = t.application
                     /\ coordinator' = t.coordinator
                     /\ finding' = t.finding
                     /\ phase' = t.phase
                     /\ memberId' = t.memberId
                     /\ generation' = t.generation
                     /\ rejoin' = t.rejoin
                     /\ prepare' = t.prepare
                     /\ owned' = t.owned
                     /\ sent' = t.sent
                     /\ latest' = t.latest
                     /\ due' = t.due
                     /\ completed' = t.completed
                     /\ pending' = t.pending
                     /\ events' = t.events
                     /\ rules' = t.rules

SessionTimeout == /\ Heartbeats /\ sent # <<>> /\ Only("Heartbeat")
                  /\ before' = Fields
                  /\ given' = Input("session.timeout.ms passes without an answer to a heartbeat")
                  /\ \E t \in {GoOn((MarkCoordinatorUnknown(Applied("time/session-timeout"))))}:
                       /\ application' = t.application
                       /\ coordinator' = t.coordinator
                       /\ finding' = t.finding
                       /\ phase' = t.phase
                       /\ memberId' = t.memberId
                       /\ generation' = t.generation
                       /\ rejoin' = t.rejoin
                       /\ prepare' = t.prepare
                       /\ owned' = t.owned
                       /\ sent' = t.sent
                       /\ latest' = t.latest
                       /\ due' = t.due
                       /\ completed' = t.completed
                       /\ pending' = t.pending
                       /\ events' = t.events
                       /\ rules' = t.rules

Disconnect == /\ Polls(Now) /\ sent # <<>>
              /\ before' = Fields
              /\ given' = Input("the connection to the coordinator breaks")
              /\ \E t \in {GoOn((MarkCoordinatorUnknown(Applied("time/disconnected"))))}:
                   /\ application' = t.application
                   /\ coordinator' = t.coordinator
                   /\ finding' = t.finding
                   /\ phase' = t.phase
                   /\ memberId' = t.memberId
                   /\ generation' = t.generation
                   /\ rejoin' = t.rejoin
                   /\ prepare' = t.prepare
                   /\ owned' = t.owned
                   /\ sent' = t.sent
                   /\ latest' = t.latest
                   /\ due' = t.due
                   /\ completed' = t.completed
                   /\ pending' = t.pending
                   /\ events' = t.events
                   /\ rules' = t.rules

Next == FindCoordinator \/ JoinGroup \/ SyncGroup \/ Heartbeat
           \/ OffsetCommit \/ Poll \/ Unsubscribe \/ Close \/ Commit
           \/ HeartbeatInterval \/ AutoCommitInterval \/ PollInterval
           \/ SessionTimeout \/ Disconnect

Spec == Init /\ [][Next]_vars

\* END TRANSLATION - the hash of the generated TLA code (remove to silence divergence warnings): TLA-0ce9767397566b2e1659e78e87cebc5b

\* What holds in every instance. It says what the consumer promises, and uses no operator of the
\* rules.
TypeOK ==
  /\ application \in {"has not subscribed yet", "polls", "waits in commitSync",
                      "waits in poll for a commit", "waits in close for a commit",
                      "waits in close for the coordinator", "does not poll", "has unsubscribed", "has to close the consumer",
                      "has closed the consumer"}
  /\ {coordinator, finding, rejoin, prepare, due, pending} \subseteq BOOLEAN
  /\ completed \in {"", "the commit succeeds", "retriable", "rebalance in progress",
                    "no longer a member", "another error"}
  /\ phase \in {"UNJOINED", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "STABLE"}
  /\ memberId \in {NoMember, Given}
  /\ generation \in {NoGeneration} \cup 1..Generations
  /\ owned \in Assignments
  /\ latest \in 0..Generations
  /\ \A i \in DOMAIN sent :
       /\ sent[i].api \in {"JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit"}
       /\ sent[i].memberId \in {NoMember, Given}
       /\ sent[i].generation \in {NoGeneration} \cup 1..Generations
       /\ {sent[i].waited, sent[i].automatic} \subseteq BOOLEAN
       /\ sent[i].automatic => AutoCommit

Requests(apis) == {i \in DOMAIN sent : sent[i].api \in apis}
IsRunning      == application \in {"polls", "waits in commitSync", "waits in poll for a commit",
                                   "waits in close for a commit",
                                   "waits in close for the coordinator"}
Waited         == {i \in DOMAIN sent : sent[i].waited}
IsReset        == phase = "UNJOINED" /\ memberId = NoMember /\ generation = NoGeneration

\* A consumer that polls waits for the coordinator, for the group or for a commit, or is a member.
NeverStuck ==
  IsRunning =>
    \/ finding
    \/ Requests({"JoinGroup", "SyncGroup"}) # {}
    \/ Waited # {}
    \/ application = "polls" /\ phase = "STABLE" /\ ~rejoin

\* Requests in flight are those of a coordinator that is known, and which is not asked for.
SentToTheCoordinator == (sent # <<>> => coordinator) /\ ~(finding /\ coordinator)

\* Of each kind one request is in flight, and JoinGroup not with SyncGroup. A commit for which
\* nothing waits can be before one for which something does.
OneAtATime ==
  /\ \A apis \in {{"JoinGroup", "SyncGroup"}, {"Heartbeat"}} : \A i, j \in Requests(apis) : i = j
  /\ \A i, j \in Requests({"OffsetCommit"}) : i < j => ~sent[i].waited /\ sent[j].waited

\* An eager consumer joins without partitions, and owns none until it is assigned some.
EagerJoinsEmpty ==
  ~Cooperative /\ IsRunning /\ Requests({"JoinGroup", "SyncGroup"}) # {} => owned = {}

StableIsMember == phase = "STABLE" => memberId # NoMember /\ generation # NoGeneration
GenerationIsOfMember == generation # NoGeneration => memberId # NoMember /\ generation =< latest

\* Who commits synchronously waits for one commit, or for the coordinator.
WaitsForOneCommit ==
  /\ \A i \in Requests({"OffsetCommit"}) :
       (sent[i].waited /\ ~sent[i].automatic) <=> application = "waits in commitSync"
  /\ IsRunning /\ application # "polls" => finding \/ Waited # {}

\* A commit waits for the coordinator only while that is asked for. If it was not sent in time, it
\* is not sent later.
PendingIsAsked ==
  /\ pending => finding /\ ~coordinator /\ Requests({"OffsetCommit"}) = {}
  /\ application = "waits in close for the coordinator" => finding /\ (pending \/ completed # "")

\* While it commits before it joins or leaves, it has its partitions: they are given away after it.
CommitsWhatItOwns == (\E i \in Waited : sent[i].automatic) => owned # {}

\* After unsubscribe and close it is no member, and owns nothing.
LeavesWithNothing ==
  application \in {"has unsubscribed", "has closed the consumer"} => IsReset /\ owned = {}

\* After max.poll.interval.ms it is no member. It has what it owned until it polls again, and then
\* prepares, which takes that away, and joins.
StalledHasLeft == application = "does not poll" => IsReset /\ rejoin /\ prepare

\* What the last step did. TLC checks it in every transition if the VIEW is left out.
Named(names) == {i \in DOMAIN events : events[i].name \in names}
Partitions(names) == UNION {events[i].partitions : i \in Named(names)}

\* A call of the listener names each partition that the consumer has no more, or is given.
TellsOwned ==
  rules # <<>> =>
    /\ before.owned \ owned \subseteq Partitions({"onPartitionsRevoked", "onPartitionsLost"})
    /\ owned \ before.owned \subseteq Partitions({"onPartitionsAssigned"})
    /\ Partitions({"onPartitionsRevoked", "onPartitionsLost"}) \subseteq before.owned
    /\ Partitions({"onPartitionsAssigned"}) \subseteq owned

\* It loses partitions only if it is not in a generation any more.
LosesOnlyOutside == Named({"onPartitionsLost"}) # {} => generation = NoGeneration

\* Only a member sends these, and says which it is.
SpeaksAsMember ==
  \A i \in Named({"SyncGroup", "Heartbeat", "OffsetCommit"}) :
    events[i].memberId # NoMember /\ events[i].generation # NoGeneration

\* Each commit ends once: it succeeds or fails, it waits in commitSync, or an error is raised that
\* ends the consumer, or close.
CommitsEnd ==
  rules # <<>> =>
    LET begun == IF given.name \in {"the application commits asynchronously",
                                    "the application commits synchronously"} THEN 1 ELSE 0
        ended == Named({"the commit succeeds", "the commit fails"})
        isCommit(request) == request.api = "OffsetCommit" /\ ~request.automatic
        open(s) == IF \/ s.application = "waits in commitSync"
                      \/ s.completed # "" \/ s.pending
                      \/ \E i \in DOMAIN s.sent : isCommit(s.sent[i])
                   THEN 1 ELSE 0
        was == open(before)
        is  == open(Fields)
        \* A close that fails because the group may not be used forgets the commit.
        closes == before.application = "waits in close for the coordinator"
        lost == IF \/ \E i \in Named({"poll raises an error"}) : events[i].error = "fatal"
                   \/ closes /\ given.error = "GROUP_AUTHORIZATION_FAILED"
                THEN {0, 1} ELSE {0}
    IN \E n \in lost : /\ was + begun - n - is \in {0, 1}
                       /\ ended # {} <=> was + begun - n - is = 1
                       /\ \A i, j \in ended : i = j

\* While answers have no error, and nothing else happens but heartbeats, a consumer that polls
\* becomes STABLE, or the group has no more generations. TLC needs the inputs: leave out the VIEW.
CanBeAnswered == \/ finding
                 \/ sent # <<>> /\ (sent[1].api = "JoinGroup" => latest < Generations)
IsAnswered    == given'.error = "NONE"
IsCalm        == \/ IsAnswered
                 \/ given'.name \in {"heartbeat.interval.ms passes", "auto.commit.interval.ms passes"}
BecomesStable ==
  /\ <>[][IsCalm]_vars
  /\ []<>~CanBeAnswered \/ []<><<IsAnswered>>_vars
  => <>[](IsRunning => \/ application = "polls" /\ phase = "STABLE" /\ ~rejoin
                      \/ latest = Generations)

=============================================================================

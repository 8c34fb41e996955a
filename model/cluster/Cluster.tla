------------------------------- MODULE Cluster ------------------------------
(* A cluster of Kafka brokers with ZooKeeper: the nodes, the brokers, their    *)
(* controllers, and the requests between them, as Kafka 2.7.2 and 2.4.1 have   *)
(* them. Each process is something that operators, faults, or the              *)
(* cluster itself do. TLC and the Python explorer must find the same states,   *)
(* transitions and rules.                                                      *)
(*                                                                             *)
(* A broker handles one event of its controller, or one request, in one step,  *)
(* apart from elections: between reading that there is no controller and       *)
(* claiming /controller, anything can happen. Apply(s, id) records the id of a *)
(* rule; the ids are those of the Python tables. Nodes explains the comments   *)
(* that cite lines.                                                            *)
EXTENDS Broker

\* What instances have for Topics. A configuration of TLC cannot have a sequence.
NoTopics       == <<>>
OneTopic       == <<<<1, 2>>>>
ThreeReplicas  == <<<<1, 2, 3>>>>
OneReplica     == <<<<2>>>>
TwoTopics      == <<<<1>>, <<2>>>>
GroupsAndTopic == <<<<1, 2>>, <<1>>>>
FirstReplica   == <<<<1>>>>

\* What they have for Targets.
NoTargets   == <<>>
ToSecond    == <<<<2>>>>
ToLastTwo   == <<<<2, 3>>>>

\* Something that happens.
Input(name) == [name |-> name, broker |-> NoId, topic |-> NoTopic, sender |-> NoId,
                request |-> None]
NoInput     == Input("")
To(name, b)    == [Input(name) EXCEPT !.broker = b]
About(name, t) == [Input(name) EXCEPT !.topic = t]

\* Where the instance begins: no broker runs, or a settled cluster.
Exists(t) == Running /\ t =< Created

InitialNodes ==
  [controller |-> IF Running THEN 1 ELSE NoId, controllerEpoch |-> IF Running THEN 1 ELSE 0,
   brokers |-> [b \in Ids |-> IF Running THEN 1 ELSE 0],
   topics |-> [t \in Numbers |-> Exists(t)],
   partitions |-> [t \in Numbers |-> IF Exists(t) THEN Partition(Topics[t][1], 0, Topics[t], 1, 0)
                                                  ELSE None],
   deletions |-> [t \in Numbers |-> FALSE],
   assignments |-> [t \in Numbers |-> IF Exists(t) THEN Assignment(Topics[t], <<>>, <<>>)
                                                   ELSE NoAssignment],
   announced |-> <<>>]

InitialReplica(b, t) ==
  IF ~Exists(t) \/ ~Has(Topics[t], b) THEN NoReplica
  ELSE IF Topics[t][1] = b
  THEN [NoReplica EXCEPT !.log = TRUE, !.role = "leader", !.leaderEpoch = 0, !.isr = Topics[t],
                         !.assigned = Topics[t],
                         !.controllerEpoch = IF WritesIsr THEN 1 ELSE 0]
  ELSE [NoReplica EXCEPT !.log = TRUE, !.role = "follower", !.leaderEpoch = 0]

InitialTopic(t) ==
  IF ~Exists(t) THEN NoTopicState
  ELSE [NoTopicState EXCEPT
          !.known = TRUE, !.assigned = Topics[t], !.leadership = InitialNodes.partitions[t],
          !.phase = "OnlinePartition",
          !.replicas = [b \in Ids |-> IF Has(Topics[t], b) THEN "OnlineReplica"
                                                           ELSE "NonExistentReplica"]]

InitialController ==
  [epoch |-> 1, live |-> [b \in Ids |-> 1], topics |-> [t \in Numbers |-> InitialTopic(t)],
   channels |-> [b \in Ids |-> <<>>],
   watchesBrokers |-> TRUE, watchesTopics |-> TRUE, watchesDeletions |-> TRUE,
   watchesIsr |-> TRUE]

InitialBroker(b) ==
  IF ~Running THEN NoBroker
  ELSE LET replicas == [t \in Numbers |-> InitialReplica(b, t)]
           owns == Groups /\ replicas[GroupTopic].role = "leader"
       IN [NoBroker EXCEPT
             !.running = TRUE, !.session = "live", !.epoch = 1, !.watchesController = TRUE,
             !.controller = IF b = 1 THEN InitialController ELSE None,
             !.controllerEpoch = IF Groups \/ \E t \in Numbers : replicas[t].log THEN 1 ELSE 0,
             !.replicas = replicas,
             !.leaders = [t \in Numbers |-> IF Groups /\ Exists(t) THEN Topics[t][1] ELSE 0],
             !.coordinator.owns = owns, !.coordinator.offset = owns]

(*--algorithm Cluster

variables
  nodes      = InitialNodes,                       \* of ZooKeeper
  brokers    = [b \in Ids |-> InitialBroker(b)],
  registered = [b \in Ids |-> IF Running THEN 1 ELSE 0],  \* how many registrations each has had
  orphans    = {},        \* requests of connections that have ended, with how many there are
  faults     = Faults,    \* how many are left
  requests   = Requests,  \* how many requests of operators are left
  offset     = Running /\ Groups,  \* whether the log of groups has an offset of the other topic
  before     = <<>>,      \* the state before the last step
  given      = NoInput,   \* the input of the last step
  rules      = <<>>;      \* the ids of the rules that the last step applied

define
  \* The VIEW of the instances: states that differ only in the last step are the same.
  State == <<nodes, brokers, registered, orphans, faults, requests, offset>>
  Fields == [nodes |-> nodes, brokers |-> brokers, registered |-> registered,
             orphans |-> orphans, faults |-> faults, requests |-> requests, offset |-> offset]
  \* The present state, in which broker b takes a step.
  Now(b) == [nodes |-> nodes, brokers |-> brokers, registered |-> registered,
             orphans |-> orphans, faults |-> faults, requests |-> requests, offset |-> offset,
             rules |-> <<>>, self |-> b, thrown |-> "nothing", batch |-> NoBatch,
             connected |-> IF b = NoId THEN {} ELSE
                           IF brokers[b].controller = None THEN {} ELSE
                           {c \in Ids : brokers[b].controller.live[c] # 0}]
  Ruled(b, rule)    == Apply(Now(b), rule)
  Faulted(s, costs) == IF costs THEN [s EXCEPT !.faults = @ - 1] ELSE s
  Asked(s)          == [s EXCEPT !.requests = @ - 1]

  \* The topic of the groups stays.
  Changing == IF Groups THEN Numbers \ {GroupTopic} ELSE Numbers
  Reassignable == {t \in Numbers : t =< Len(Targets) /\ Targets[t] # <<>>}
  IsActive(b) == brokers[b].running /\ brokers[b].controller # None
  \* The broker in /controller answers requests.
  HasController == /\ nodes.controller # NoId /\ IsActive(nodes.controller)
                   /\ brokers[nodes.controller].session = "live"
  \* f fetches from b, as far as the leader epoch shows.
  Follows(f, b, t) == /\ brokers[f].running /\ brokers[f].replicas[t].role = "follower"
                      /\ brokers[f].replicas[t].leaderEpoch = brokers[b].replicas[t].leaderEpoch
  CanAlterIsr(b, t) == /\ Isr /\ brokers[b].running
                       /\ IF WritesIsr THEN brokers[b].session = "live" ELSE HasController
                       /\ brokers[b].replicas[t].role = "leader"
                       /\ ~brokers[b].replicas[t].pending
end define

\* An input happens.
macro Finish(input, step) begin
  before := Fields;
  given  := input;
  with s \in {step} do  \* a set, which TLC evaluates once
    nodes      := s.nodes;
    brokers    := s.brokers;
    registered := s.registered;
    orphans    := s.orphans;
    faults     := s.faults;
    requests   := s.requests;
    offset     := s.offset;
    rules      := s.rules;
  end with;
end macro

\* Not while the session of its predecessor lives: then it fails, and nothing changes.
process StartBroker = "StartBroker"
begin start_broker:
  while TRUE do
    with b \in {b \in Ids : ~brokers[b].running /\ brokers[b].session = "none"} do
      Finish(To("a broker starts", b), Start(Now(b), b));
    end with;
  end while;
end process

process KillBroker = "KillBroker"
begin kill_broker:
  while TRUE do
    await Kills /\ faults > 0;
    with b \in {b \in Ids : brokers[b].running} do
      Finish(To("a broker is killed", b), Faulted(Kill(Now(b), b), TRUE));
    end with;
  end while;
end process

process ExpireSession = "ExpireSession"
begin expire_session:
  while TRUE do
    with b \in {b \in Ids : /\ brokers[b].session = "live"
                            /\ brokers[b].running => Expires /\ faults > 0} do
      Finish(To("ZooKeeper ends the session of a broker", b),
             Faulted(EndSession(Ruled(b, "environment/expire"), b), brokers[b].running));
    end with;
  end while;
end process

process MoveController = "MoveController"
begin move_controller:
  while TRUE do
    await Moves /\ faults > 0 /\ nodes.controller # NoId;
    Finish(Input("the node /controller is deleted"),
           Faulted(DeleteController(Ruled(NoId, "environment/move")), TRUE));
  end while;
end process

process CreateTopic = "CreateTopic"
begin create_topic:
  while TRUE do
    await requests > 0;
    with t \in {t \in Changing : ~nodes.topics[t]} do
      Finish(About("a topic is created", t),
             Asked(TopicsChanged([Ruled(NoId, "environment/create") EXCEPT
                                    !.nodes.topics[t] = TRUE,
                                    !.nodes.assignments[t] = Assignment(Topics[t], <<>>, <<>>)])));
    end with;
  end while;
end process

process DeleteTopic = "DeleteTopic"
begin delete_topic:
  while TRUE do
    await requests > 0;
    with t \in {t \in Changing : ~nodes.deletions[t]} do
      Finish(About("the deletion of a topic is requested", t),
             Asked(DeletionsChanged([Ruled(NoId, "environment/delete") EXCEPT
                                       !.nodes.deletions[t] = TRUE])));
    end with;
  end while;
end process

process ElectLeaders = "ElectLeaders"
begin elect_leaders:
  while TRUE do
    await Elects /\ requests > 0 /\ HasController;
    with t \in Numbers do
      Finish(About("the preferred leader of a topic is requested", t),
             Asked(Enqueue(Ruled(NoId, "environment/elect"), nodes.controller,
                           [Event("ReplicaLeaderElection") EXCEPT !.topics = <<t>>])));
    end with;
  end while;
end process

process ReassignPartitions = "ReassignPartitions"
begin reassign_partitions:
  while TRUE do
    await requests > 0 /\ HasController;
    with t \in Reassignable do
      Finish(About("the reassignment of a topic is requested", t),
             Asked(Enqueue(Ruled(NoId, "environment/reassign"), nodes.controller,
                           [Event("ApiPartitionReassignment") EXCEPT
                              !.topics = <<t>>, !.replicas = Targets[t]])));
    end with;
  end while;
end process

process CancelReassignments = "CancelReassignments"
begin cancel_reassignments:
  while TRUE do
    await Cancels /\ requests > 0 /\ HasController;
    with t \in Reassignable do
      Finish(About("the end of a reassignment is requested", t),
             Asked(Enqueue(Ruled(NoId, "environment/cancel"), nodes.controller,
                           [Event("ApiPartitionReassignment") EXCEPT !.topics = <<t>>])));
    end with;
  end while;
end process

\* A follower that follows falls behind by a fault only.
process ShrinkIsr = "ShrinkIsr"
begin shrink_isr:  \* PA:952
  while TRUE do
    with b \in Ids, t \in {t \in Numbers : CanAlterIsr(b, t)},
         f \in {f \in Ids \ {b} : /\ Has(brokers[b].replicas[t].isr, f)
                                  /\ Follows(f, b, t) => faults > 0} do
      Finish([To("a replica falls behind", b) EXCEPT !.topic = t, !.sender = f],
             Faulted(ChangeIsr(Ruled(b, "environment/shrink"), b, t,
                               Without(brokers[b].replicas[t].isr, f)),
                     Follows(f, b, t)));
    end with;
  end while;
end process

process ExpandIsr = "ExpandIsr"
begin expand_isr:  \* PA:788
  while TRUE do
    with b \in Ids, t \in {t \in Numbers : CanAlterIsr(b, t)},
         f \in {f \in Ids : /\ ~Has(brokers[b].replicas[t].isr, f)
                            /\ Has(brokers[b].replicas[t].assigned, f) /\ Follows(f, b, t)} do
      Finish([To("a replica catches up", b) EXCEPT !.topic = t, !.sender = f],
             ChangeIsr(Ruled(b, "environment/expand"), b, t,
                       Append(brokers[b].replicas[t].isr, f)));
    end with;
  end while;
end process

process AnnounceIsr = "AnnounceIsr"
begin announce_isr:
  while TRUE do
    with b \in {b \in Ids : /\ brokers[b].running /\ brokers[b].session = "live"
                            /\ brokers[b].changed # <<>>} do
      Finish(To("a broker announces the ISRs that it has written", b),
             PropagateIsrChanges(Now(b), b));
    end with;
  end while;
end process

process CommitOffset = "CommitOffset"
begin commit_offset:
  while TRUE do
    await Groups /\ requests > 0 /\ OtherTopic \in Numbers;
    with b \in {b \in Ids : /\ brokers[b].running /\ IsCurrent(Now(b), b)
                            /\ brokers[b].coordinator.owns /\ ~brokers[b].coordinator.offset
                            /\ brokers[b].leaders[OtherTopic] # 0} do
      Finish(To("a group commits an offset of a topic", b),
             Asked([Ruled(b, "environment/commit") EXCEPT
                      !.offset = TRUE, !.brokers[b].coordinator.offset = TRUE]));
    end with;
  end while;
end process

process RenewSession = "RenewSession"
begin renew_session:
  while TRUE do
    with b \in {b \in Ids : brokers[b].running /\ brokers[b].session = "expired"} do
      Finish(To("a broker learns that its session has ended", b), Renew(Now(b), b));
    end with;
  end while;
end process

process HandleEvent = "HandleEvent"
begin handle_event:
  while TRUE do
    with b \in {b \in Ids : /\ brokers[b].running /\ brokers[b].queue # <<>>
                            /\ brokers[b].claiming = NoEpoch} do
      Finish(To("a broker handles its next controller event", b), Handle(Now(b)));
    end with;
  end while;
end process

process ClaimController = "ClaimController"
begin claim_controller:
  while TRUE do
    with b \in {b \in Ids : brokers[b].running /\ brokers[b].claiming # NoEpoch} do
      Finish(To("a broker claims /controller", b), Claim(Now(b)));
    end with;
  end while;
end process

process DeliverRequest = "DeliverRequest"
begin deliver_request:
  while TRUE do
    with c \in {c \in Ids : IsActive(c)},
         b \in {b \in Ids : brokers[b].running /\ brokers[c].controller.channels[b] # <<>>} do
      Finish([To("a broker handles the next request of a controller", b) EXCEPT !.sender = c],
             Deliver(Now(c), b));
    end with;
  end while;
end process

process ArriveLate = "ArriveLate"
begin arrive_late:
  while TRUE do
    with o \in {o \in orphans : brokers[o[1].broker].running} do
      Finish([To("a broker handles a request of a connection that has ended", o[1].broker) EXCEPT
                !.request = o[1]],
             HandleRequest(RemoveOrphan(Now(NoId), o[1]), o[1]));
    end with;
  end while;
end process

process LoseRequest = "LoseRequest"
begin lose_request:
  while TRUE do
    with o \in orphans do
      Finish([To("a request of a connection that has ended is lost", o[1].broker) EXCEPT
                !.request = o[1]],
             RemoveOrphan(Now(NoId), o[1]));
    end with;
  end while;
end process

process DoNextTask = "DoNextTask"
begin do_next_task:
  while TRUE do
    with b \in {b \in Ids : brokers[b].running /\ brokers[b].coordinator.tasks # <<>>} do
      Finish(To("a coordinator does its next task", b), DoTask(Now(b), b));
    end with;
  end while;
end process

end algorithm; *)
\* BEGIN TRANSLATION - the hash of the PCal code: PCal-7972d03d08273640e5af481be829a42e
VARIABLES nodes, brokers, registered, orphans, faults, requests, offset, 
          before, given, rules

(* define statement *)
State == <<nodes, brokers, registered, orphans, faults, requests, offset>>
Fields == [nodes |-> nodes, brokers |-> brokers, registered |-> registered,
           orphans |-> orphans, faults |-> faults, requests |-> requests, offset |-> offset]

Now(b) == [nodes |-> nodes, brokers |-> brokers, registered |-> registered,
           orphans |-> orphans, faults |-> faults, requests |-> requests, offset |-> offset,
           rules |-> <<>>, self |-> b, thrown |-> "nothing", batch |-> NoBatch,
           connected |-> IF b = NoId THEN {} ELSE
                         IF brokers[b].controller = None THEN {} ELSE
                         {c \in Ids : brokers[b].controller.live[c] # 0}]
Ruled(b, rule)    == Apply(Now(b), rule)
Faulted(s, costs) == IF costs THEN [s EXCEPT !.faults = @ - 1] ELSE s
Asked(s)          == [s EXCEPT !.requests = @ - 1]


Changing == IF Groups THEN Numbers \ {GroupTopic} ELSE Numbers
Reassignable == {t \in Numbers : t =< Len(Targets) /\ Targets[t] # <<>>}
IsActive(b) == brokers[b].running /\ brokers[b].controller # None

HasController == /\ nodes.controller # NoId /\ IsActive(nodes.controller)
                 /\ brokers[nodes.controller].session = "live"

Follows(f, b, t) == /\ brokers[f].running /\ brokers[f].replicas[t].role = "follower"
                    /\ brokers[f].replicas[t].leaderEpoch = brokers[b].replicas[t].leaderEpoch
CanAlterIsr(b, t) == /\ Isr /\ brokers[b].running
                     /\ IF WritesIsr THEN brokers[b].session = "live" ELSE HasController
                     /\ brokers[b].replicas[t].role = "leader"
                     /\ ~brokers[b].replicas[t].pending


vars == << nodes, brokers, registered, orphans, faults, requests, offset, 
           before, given, rules >>

ProcSet == {"StartBroker"} \cup {"KillBroker"} \cup {"ExpireSession"} \cup {"MoveController"} \cup {"CreateTopic"} \cup {"DeleteTopic"} \cup {"ElectLeaders"} \cup {"ReassignPartitions"} \cup {"CancelReassignments"} \cup {"ShrinkIsr"} \cup {"ExpandIsr"} \cup {"AnnounceIsr"} \cup {"CommitOffset"} \cup {"RenewSession"} \cup {"HandleEvent"} \cup {"ClaimController"} \cup {"DeliverRequest"} \cup {"ArriveLate"} \cup {"LoseRequest"} \cup {"DoNextTask"}

Init == (* Global variables *)
        /\ nodes = InitialNodes
        /\ brokers = [b \in Ids |-> InitialBroker(b)]
        /\ registered = [b \in Ids |-> IF Running THEN 1 ELSE 0]
        /\ orphans = {}
        /\ faults = Faults
        /\ requests = Requests
        /\ offset = (Running /\ Groups)
        /\ before = <<>>
        /\ given = NoInput
        /\ rules = <<>>

StartBroker == \E b \in {b \in Ids : ~brokers[b].running /\ brokers[b].session = "none"}:
                 /\ before' = Fields
                 /\ given' = To("a broker starts", b)
                 /\ \E s \in {(Start(Now(b), b))}:
                      /\ nodes' = s.nodes
                      /\ brokers' = s.brokers
                      /\ registered' = s.registered
                      /\ orphans' = s.orphans
                      /\ faults' = s.faults
                      /\ requests' = s.requests
                      /\ offset' = s.offset
                      /\ rules' = s.rules

KillBroker == /\ Kills /\ faults > 0
              /\ \E b \in {b \in Ids : brokers[b].running}:
                   /\ before' = Fields
                   /\ given' = To("a broker is killed", b)
                   /\ \E s \in {(Faulted(Kill(Now(b), b), TRUE))}:
                        /\ nodes' = s.nodes
                        /\ brokers' = s.brokers
                        /\ registered' = s.registered
                        /\ orphans' = s.orphans
                        /\ faults' = s.faults
                        /\ requests' = s.requests
                        /\ offset' = s.offset
                        /\ rules' = s.rules

ExpireSession == \E b \in {b \in Ids : /\ brokers[b].session = "live"
                                       /\ brokers[b].running => Expires /\ faults > 0}:
                   /\ before' = Fields
                   /\ given' = To("ZooKeeper ends the session of a broker", b)
                   /\ \E s \in {(Faulted(EndSession(Ruled(b, "environment/expire"), b), brokers[b].running))}:
                        /\ nodes' = s.nodes
                        /\ brokers' = s.brokers
                        /\ registered' = s.registered
                        /\ orphans' = s.orphans
                        /\ faults' = s.faults
                        /\ requests' = s.requests
                        /\ offset' = s.offset
                        /\ rules' = s.rules

MoveController == /\ Moves /\ faults > 0 /\ nodes.controller # NoId
                  /\ before' = Fields
                  /\ given' = Input("the node /controller is deleted")
                  /\ \E s \in {(Faulted(DeleteController(Ruled(NoId, "environment/move")), TRUE))}:
                       /\ nodes' = s.nodes
                       /\ brokers' = s.brokers
                       /\ registered' = s.registered
                       /\ orphans' = s.orphans
                       /\ faults' = s.faults
                       /\ requests' = s.requests
                       /\ offset' = s.offset
                       /\ rules' = s.rules

CreateTopic == /\ requests > 0
               /\ \E t \in {t \in Changing : ~nodes.topics[t]}:
                    /\ before' = Fields
                    /\ given' = About("a topic is created", t)
                    /\ \E s \in {(Asked(TopicsChanged([Ruled(NoId, "environment/create") EXCEPT
                                                         !.nodes.topics[t] = TRUE,
                                                         !.nodes.assignments[t] = Assignment(Topics[t], <<>>, <<>>)])))}:
                         /\ nodes' = s.nodes
                         /\ brokers' = s.brokers
                         /\ registered' = s.registered
                         /\ orphans' = s.orphans
                         /\ faults' = s.faults
                         /\ requests' = s.requests
                         /\ offset' = s.offset
                         /\ rules' = s.rules

DeleteTopic == /\ requests > 0
               /\ \E t \in {t \in Changing : ~nodes.deletions[t]}:
                    /\ before' = Fields
                    /\ given' = About("the deletion of a topic is requested", t)
                    /\ \E s \in {(Asked(DeletionsChanged([Ruled(NoId, "environment/delete") EXCEPT
                                                            !.nodes.deletions[t] = TRUE])))}:
                         /\ nodes' = s.nodes
                         /\ brokers' = s.brokers
                         /\ registered' = s.registered
                         /\ orphans' = s.orphans
                         /\ faults' = s.faults
                         /\ requests' = s.requests
                         /\ offset' = s.offset
                         /\ rules' = s.rules

ElectLeaders == /\ Elects /\ requests > 0 /\ HasController
                /\ \E t \in Numbers:
                     /\ before' = Fields
                     /\ given' = About("the preferred leader of a topic is requested", t)
                     /\ \E s \in {(Asked(Enqueue(Ruled(NoId, "environment/elect"), nodes.controller,
                                                 [Event("ReplicaLeaderElection") EXCEPT !.topics = <<t>>])))}:
                          /\ nodes' = s.nodes
                          /\ brokers' = s.brokers
                          /\ registered' = s.registered
                          /\ orphans' = s.orphans
                          /\ faults' = s.faults
                          /\ requests' = s.requests
                          /\ offset' = s.offset
                          /\ rules' = s.rules

ReassignPartitions == /\ requests > 0 /\ HasController
                      /\ \E t \in Reassignable:
                           /\ before' = Fields
                           /\ given' = About("the reassignment of a topic is requested", t)
                           /\ \E s \in {(Asked(Enqueue(Ruled(NoId, "environment/reassign"), nodes.controller,
                                                       [Event("ApiPartitionReassignment") EXCEPT
                                                          !.topics = <<t>>, !.replicas = Targets[t]])))}:
                                /\ nodes' = s.nodes
                                /\ brokers' = s.brokers
                                /\ registered' = s.registered
                                /\ orphans' = s.orphans
                                /\ faults' = s.faults
                                /\ requests' = s.requests
                                /\ offset' = s.offset
                                /\ rules' = s.rules

CancelReassignments == /\ Cancels /\ requests > 0 /\ HasController
                       /\ \E t \in Reassignable:
                            /\ before' = Fields
                            /\ given' = About("the end of a reassignment is requested", t)
                            /\ \E s \in {(Asked(Enqueue(Ruled(NoId, "environment/cancel"), nodes.controller,
                                                        [Event("ApiPartitionReassignment") EXCEPT !.topics = <<t>>])))}:
                                 /\ nodes' = s.nodes
                                 /\ brokers' = s.brokers
                                 /\ registered' = s.registered
                                 /\ orphans' = s.orphans
                                 /\ faults' = s.faults
                                 /\ requests' = s.requests
                                 /\ offset' = s.offset
                                 /\ rules' = s.rules

ShrinkIsr == \E b \in Ids:
               \E t \in {t \in Numbers : CanAlterIsr(b, t)}:
                 \E f \in {f \in Ids \ {b} : /\ Has(brokers[b].replicas[t].isr, f)
                                             /\ Follows(f, b, t) => faults > 0}:
                   /\ before' = Fields
                   /\ given' = [To("a replica falls behind", b) EXCEPT !.topic = t, !.sender = f]
                   /\ \E s \in {(Faulted(ChangeIsr(Ruled(b, "environment/shrink"), b, t,
                                                   Without(brokers[b].replicas[t].isr, f)),
                                         Follows(f, b, t)))}:
                        /\ nodes' = s.nodes
                        /\ brokers' = s.brokers
                        /\ registered' = s.registered
                        /\ orphans' = s.orphans
                        /\ faults' = s.faults
                        /\ requests' = s.requests
                        /\ offset' = s.offset
                        /\ rules' = s.rules

ExpandIsr == \E b \in Ids:
               \E t \in {t \in Numbers : CanAlterIsr(b, t)}:
                 \E f \in {f \in Ids : /\ ~Has(brokers[b].replicas[t].isr, f)
                                       /\ Has(brokers[b].replicas[t].assigned, f) /\ Follows(f, b, t)}:
                   /\ before' = Fields
                   /\ given' = [To("a replica catches up", b) EXCEPT !.topic = t, !.sender = f]
                   /\ \E s \in {(ChangeIsr(Ruled(b, "environment/expand"), b, t,
                                           Append(brokers[b].replicas[t].isr, f)))}:
                        /\ nodes' = s.nodes
                        /\ brokers' = s.brokers
                        /\ registered' = s.registered
                        /\ orphans' = s.orphans
                        /\ faults' = s.faults
                        /\ requests' = s.requests
                        /\ offset' = s.offset
                        /\ rules' = s.rules

AnnounceIsr == \E b \in {b \in Ids : /\ brokers[b].running /\ brokers[b].session = "live"
                                     /\ brokers[b].changed # <<>>}:
                 /\ before' = Fields
                 /\ given' = To("a broker announces the ISRs that it has written", b)
                 /\ \E s \in {(PropagateIsrChanges(Now(b), b))}:
                      /\ nodes' = s.nodes
                      /\ brokers' = s.brokers
                      /\ registered' = s.registered
                      /\ orphans' = s.orphans
                      /\ faults' = s.faults
                      /\ requests' = s.requests
                      /\ offset' = s.offset
                      /\ rules' = s.rules

CommitOffset == /\ Groups /\ requests > 0 /\ OtherTopic \in Numbers
                /\ \E b \in {b \in Ids : /\ brokers[b].running /\ IsCurrent(Now(b), b)
                                         /\ brokers[b].coordinator.owns /\ ~brokers[b].coordinator.offset
                                         /\ brokers[b].leaders[OtherTopic] # 0}:
                     /\ before' = Fields
                     /\ given' = To("a group commits an offset of a topic", b)
                     /\ \E s \in {(Asked([Ruled(b, "environment/commit") EXCEPT
                                            !.offset = TRUE, !.brokers[b].coordinator.offset = TRUE]))}:
                          /\ nodes' = s.nodes
                          /\ brokers' = s.brokers
                          /\ registered' = s.registered
                          /\ orphans' = s.orphans
                          /\ faults' = s.faults
                          /\ requests' = s.requests
                          /\ offset' = s.offset
                          /\ rules' = s.rules

RenewSession == \E b \in {b \in Ids : brokers[b].running /\ brokers[b].session = "expired"}:
                  /\ before' = Fields
                  /\ given' = To("a broker learns that its session has ended", b)
                  /\ \E s \in {(Renew(Now(b), b))}:
                       /\ nodes' = s.nodes
                       /\ brokers' = s.brokers
                       /\ registered' = s.registered
                       /\ orphans' = s.orphans
                       /\ faults' = s.faults
                       /\ requests' = s.requests
                       /\ offset' = s.offset
                       /\ rules' = s.rules

HandleEvent == \E b \in {b \in Ids : /\ brokers[b].running /\ brokers[b].queue # <<>>
                                     /\ brokers[b].claiming = NoEpoch}:
                 /\ before' = Fields
                 /\ given' = To("a broker handles its next controller event", b)
                 /\ \E s \in {(Handle(Now(b)))}:
                      /\ nodes' = s.nodes
                      /\ brokers' = s.brokers
                      /\ registered' = s.registered
                      /\ orphans' = s.orphans
                      /\ faults' = s.faults
                      /\ requests' = s.requests
                      /\ offset' = s.offset
                      /\ rules' = s.rules

ClaimController == \E b \in {b \in Ids : brokers[b].running /\ brokers[b].claiming # NoEpoch}:
                     /\ before' = Fields
                     /\ given' = To("a broker claims /controller", b)
                     /\ \E s \in {(Claim(Now(b)))}:
                          /\ nodes' = s.nodes
                          /\ brokers' = s.brokers
                          /\ registered' = s.registered
                          /\ orphans' = s.orphans
                          /\ faults' = s.faults
                          /\ requests' = s.requests
                          /\ offset' = s.offset
                          /\ rules' = s.rules

DeliverRequest == \E c \in {c \in Ids : IsActive(c)}:
                    \E b \in {b \in Ids : brokers[b].running /\ brokers[c].controller.channels[b] # <<>>}:
                      /\ before' = Fields
                      /\ given' = [To("a broker handles the next request of a controller", b) EXCEPT !.sender = c]
                      /\ \E s \in {(Deliver(Now(c), b))}:
                           /\ nodes' = s.nodes
                           /\ brokers' = s.brokers
                           /\ registered' = s.registered
                           /\ orphans' = s.orphans
                           /\ faults' = s.faults
                           /\ requests' = s.requests
                           /\ offset' = s.offset
                           /\ rules' = s.rules

ArriveLate == \E o \in {o \in orphans : brokers[o[1].broker].running}:
                /\ before' = Fields
                /\ given' = [To("a broker handles a request of a connection that has ended", o[1].broker) EXCEPT
                               !.request = o[1]]
                /\ \E s \in {(HandleRequest(RemoveOrphan(Now(NoId), o[1]), o[1]))}:
                     /\ nodes' = s.nodes
                     /\ brokers' = s.brokers
                     /\ registered' = s.registered
                     /\ orphans' = s.orphans
                     /\ faults' = s.faults
                     /\ requests' = s.requests
                     /\ offset' = s.offset
                     /\ rules' = s.rules

LoseRequest == \E o \in orphans:
                 /\ before' = Fields
                 /\ given' = [To("a request of a connection that has ended is lost", o[1].broker) EXCEPT
                                !.request = o[1]]
                 /\ \E s \in {(RemoveOrphan(Now(NoId), o[1]))}:
                      /\ nodes' = s.nodes
                      /\ brokers' = s.brokers
                      /\ registered' = s.registered
                      /\ orphans' = s.orphans
                      /\ faults' = s.faults
                      /\ requests' = s.requests
                      /\ offset' = s.offset
                      /\ rules' = s.rules

DoNextTask == \E b \in {b \in Ids : brokers[b].running /\ brokers[b].coordinator.tasks # <<>>}:
                /\ before' = Fields
                /\ given' = To("a coordinator does its next task", b)
                /\ \E s \in {(DoTask(Now(b), b))}:
                     /\ nodes' = s.nodes
                     /\ brokers' = s.brokers
                     /\ registered' = s.registered
                     /\ orphans' = s.orphans
                     /\ faults' = s.faults
                     /\ requests' = s.requests
                     /\ offset' = s.offset
                     /\ rules' = s.rules

Next == StartBroker \/ KillBroker \/ ExpireSession \/ MoveController
           \/ CreateTopic \/ DeleteTopic \/ ElectLeaders \/ ReassignPartitions
           \/ CancelReassignments \/ ShrinkIsr \/ ExpandIsr \/ AnnounceIsr
           \/ CommitOffset \/ RenewSession \/ HandleEvent \/ ClaimController
           \/ DeliverRequest \/ ArriveLate \/ LoseRequest \/ DoNextTask

Spec == Init /\ [][Next]_vars

\* END TRANSLATION - the hash of the generated TLA code (remove to silence divergence warnings): TLA-e98ceec5b9f7b4f2ad1f4cc30597602f
\* What holds in every instance. It says what Kafka promises, and uses no operator of the rules.
Epochs == Nat

IsPartition(p) ==
  /\ p.leader \in Ids \cup {NoLeader} /\ p.leaderEpoch \in Epochs /\ p.version \in Epochs
  /\ p.controllerEpoch \in Epochs /\ \A i \in DOMAIN p.isr : p.isr[i] \in Ids

IsAssignment(a) ==
  /\ \A i \in DOMAIN a.replicas : a.replicas[i] \in Ids
  /\ \A i \in DOMAIN a.adding : \E j \in DOMAIN a.replicas : a.replicas[j] = a.adding[i]
  /\ \A i \in DOMAIN a.removing : \E j \in DOMAIN a.replicas : a.replicas[j] = a.removing[i]

IsRequest(r) ==
  /\ r.api \in {"LeaderAndIsr", "UpdateMetadata", "StopReplica"}
  /\ r.broker \in Ids /\ r.controllerEpoch \in Epochs /\ r.brokerEpoch \in Epochs
  /\ r.topics # <<>>
  /\ \A i \in DOMAIN r.topics :
       /\ r.topics[i].topic \in Numbers
       /\ r.topics[i].leader \in Ids \cup {NoLeader, DuringDelete}
       /\ r.topics[i].leaderEpoch \in Epochs \cup {NoEpoch, DuringDelete}

IsEvent(e) ==
  /\ e.name \in {"Startup", "Reelect", "ControllerChange", "Expire", "RegisterBrokerAndReelect",
                 "BrokerChange", "TopicChange", "TopicDeletion", "ReplicaLeaderElection",
                 "ApiPartitionReassignment", "PartitionReassignmentIsrChange", "AlterIsrReceived",
                 "IsrChangeNotification", "TopicDeletionStopReplicaResponseReceived"}
  /\ e.broker \in Ids \cup {NoId} /\ e.epoch \in Epochs
  /\ \A i \in DOMAIN e.topics : e.topics[i] \in Numbers
  /\ \A i \in DOMAIN e.replicas : e.replicas[i] \in Ids

IsTopic(k) ==
  /\ {k.known, k.queued, k.started, k.ineligible, k.reassigned} \subseteq BOOLEAN
  /\ k.watch \in {"none", "registered", "set"} /\ k.watch # "none" => k.reassigned
  /\ IsAssignment([replicas |-> k.assigned, adding |-> k.adding, removing |-> k.removing])
  /\ k.leadership = None \/ IsPartition(k.leadership)
  /\ k.phase \in {"NonExistentPartition", "NewPartition", "OnlinePartition", "OfflinePartition"}
  /\ \A b \in Ids : k.replicas[b] \in
       {"NonExistentReplica", "NewReplica", "OnlineReplica", "OfflineReplica",
        "ReplicaDeletionStarted", "ReplicaDeletionSuccessful", "ReplicaDeletionIneligible"}

IsController(c) ==
  /\ c.epoch \in Epochs \ {0}
  /\ {c.watchesBrokers, c.watchesTopics, c.watchesDeletions, c.watchesIsr} \subseteq BOOLEAN
  /\ \A t \in Numbers : IsTopic(c.topics[t])
  /\ \A b \in Ids : /\ c.live[b] \in Epochs
                    /\ \A i \in DOMAIN c.channels[b] : IsRequest(c.channels[b][i])

IsReplica(r) ==
  /\ {r.log, r.pending} \subseteq BOOLEAN
  /\ r.role \in {"none", "leader", "follower", "stopped"}
  /\ r.leaderEpoch \in Epochs \cup {NoEpoch} /\ r.version \in Epochs
  /\ \A i \in DOMAIN r.isr : r.isr[i] \in Ids
  /\ r.role = "none" <=> r.leaderEpoch = NoEpoch
  /\ r.role # "none" => r.log
  /\ r.role # "leader" =>
       ~r.pending /\ r.isr = <<>> /\ r.assigned = <<>> /\ r.controllerEpoch = 0
  /\ r.controllerEpoch \in Epochs

TypeOK ==
  /\ nodes.controller \in Ids \cup {NoId} /\ nodes.controllerEpoch \in Epochs
  /\ \A b \in Ids : nodes.brokers[b] \in 0..registered[b]
  /\ \A t \in Numbers : /\ {nodes.topics[t], nodes.deletions[t]} \subseteq BOOLEAN
                        /\ nodes.partitions[t] = None \/ IsPartition(nodes.partitions[t])
                        /\ IsAssignment(nodes.assignments[t])
  /\ \A b \in Ids :
       /\ {brokers[b].running, brokers[b].watchesController, brokers[b].stuck} \subseteq BOOLEAN
       /\ brokers[b].session \in {"none", "live", "expired"}
       /\ brokers[b].epoch \in 0..registered[b]
       /\ brokers[b].claiming \in Epochs \cup {NoEpoch}
       /\ brokers[b].controller = None \/ IsController(brokers[b].controller)
       /\ brokers[b].controllerEpoch \in 0..nodes.controllerEpoch
       /\ \A i \in DOMAIN brokers[b].queue : IsEvent(brokers[b].queue[i])
       /\ \A t \in Numbers : /\ IsReplica(brokers[b].replicas[t])
                             /\ brokers[b].leaders[t] \in Ids \cup {0, NoLeader}
       /\ {brokers[b].coordinator.loading, brokers[b].coordinator.owns,
           brokers[b].coordinator.offset, offset} \subseteq BOOLEAN
       /\ \A i \in DOMAIN brokers[b].coordinator.tasks :
            brokers[b].coordinator.tasks[i] \in {"load", "unload"}
  /\ \A o \in orphans : IsRequest(o[1]) /\ o[2] \in Nat \ {0}
  /\ \A o, p \in orphans : o[1] = p[1] => o = p
  /\ \A b \in Ids : \A i \in DOMAIN brokers[b].changed : brokers[b].changed[i] \in Numbers
  /\ \A i \in DOMAIN nodes.announced :
       \A j \in DOMAIN nodes.announced[i] : nodes.announced[i][j] \in Numbers
  /\ faults \in 0..Faults /\ requests \in 0..Requests

Active == {b \in Ids : brokers[b].controller # None}

\* A broker that does not run does nothing.
StoppedIsQuiet ==
  \A b \in Ids : ~brokers[b].running =>
    brokers[b] = [NoBroker EXCEPT !.session = brokers[b].session,
                                  !.replicas = brokers[b].replicas]
                 /\ \A t \in Numbers : brokers[b].replicas[t].role = "none"

\* Ephemeral nodes are those of sessions that live.
NodesOfSessions ==
  \A b \in Ids : nodes.brokers[b] # 0 \/ nodes.controller = b => brokers[b].session = "live"

\* There is one controller in each epoch, and none in a later epoch than the node has.
OneControllerPerEpoch ==
  /\ \A a, b \in Active : brokers[a].controller.epoch = brokers[b].controller.epoch => a = b
  /\ \A b \in Active : brokers[b].controller.epoch =< nodes.controllerEpoch

\* The broker in /controller is the controller of the present epoch, unless it has been killed.
ControllerIsActive ==
  nodes.controller # NoId /\ brokers[nodes.controller].running =>
    /\ nodes.controller \in Active
    /\ brokers[nodes.controller].controller.epoch = nodes.controllerEpoch

\* Requests name controllers of the past or present.
RequestsOfControllers ==
  /\ \A o \in orphans : o[1].controllerEpoch =< nodes.controllerEpoch
  /\ \A c \in Active, b \in Ids : \A i \in DOMAIN brokers[c].controller.channels[b] :
       brokers[c].controller.channels[b][i].controllerEpoch = brokers[c].controller.epoch

\* The leader of a partition is in sync, and some replica is.
LeaderIsInSync ==
  \A t \in Numbers : nodes.partitions[t] # None =>
    LET p == nodes.partitions[t]
    IN /\ p.isr # <<>>
       /\ p.leader # NoLeader => \E i \in DOMAIN p.isr : p.isr[i] = p.leader

\* No two brokers lead a partition in one leader epoch.
OneLeaderPerEpoch ==
  \A a, b \in Ids, t \in Numbers :
    /\ brokers[a].replicas[t].role = "leader" /\ brokers[b].replicas[t].role = "leader"
    /\ brokers[a].replicas[t].leaderEpoch = brokers[b].replicas[t].leaderEpoch
    => a = b

\* A topic that is deleted leaves no state of its partition.
DeletedHasNoState ==
  \A t \in Numbers : ~nodes.topics[t] => nodes.partitions[t] = None

\* The leader and the ISR are replicas, and one of these is not to be removed.
LeaderIsReplica ==
  \A t \in Numbers : nodes.partitions[t] # None =>
    LET p == nodes.partitions[t]
        a == nodes.assignments[t]
        isReplica(b) == \E i \in DOMAIN a.replicas : a.replicas[i] = b
    IN /\ p.leader = NoLeader \/ isReplica(p.leader)
       /\ \A i \in DOMAIN p.isr : isReplica(p.isr[i])
       /\ \E i \in DOMAIN a.replicas : \A j \in DOMAIN a.removing : a.removing[j] # a.replicas[i]

\* The queues and channels of an instance have a bound.
QueuesAreBounded ==
  /\ \A b \in Ids : Len(brokers[b].queue) =< 6 + 2 * (Brokers + Faults + Requests)
  /\ \A c \in Active, b \in Ids :
       Len(brokers[c].controller.channels[b]) =< 4 * (2 + Faults + Requests)

\* What the last step did. TLC checks it in every transition if the VIEW is left out.
IsStep == before # <<>>

EpochsGrow ==
  IsStep => /\ nodes.controllerEpoch >= before.nodes.controllerEpoch
            /\ \A b \in Ids : registered[b] >= before.registered[b]
            /\ \A t \in Numbers :
                 LET p == before.nodes.partitions[t]
                     q == nodes.partitions[t]
                 IN p # None /\ q # None /\ p # q =>
                      /\ q.version > p.version /\ q.leaderEpoch >= p.leaderEpoch
                      /\ q.leader # p.leader => q.leaderEpoch > p.leaderEpoch
                      /\ q.controllerEpoch >= p.controllerEpoch

\* A controller whose epoch has passed changes no node.
StaleChangesNothing ==
  IsStep /\ given.name = "a broker handles its next controller event" =>
    LET c == before.brokers[given.broker].controller
    IN c # None => c.epoch = before.nodes.controllerEpoch \/ nodes = before.nodes

\* A new leader was in sync, in the node or in the AlterIsr that the step handles.
ElectionsAreClean ==
  IsStep /\ ~Unclean => \A t \in Numbers :
    LET p == before.nodes.partitions[t]
        q == nodes.partitions[t]
        queue == IF given.name = "a broker handles its next controller event"
                 THEN before.brokers[given.broker].queue ELSE <<>>
        asked == IF queue = <<>> THEN <<>>
                 ELSE IF queue[1].partition = None \/ queue[1].topics # <<t>> THEN <<>>
                 ELSE queue[1].partition.isr
    IN p # None /\ q # None =>
         \/ q.leader \in {p.leader, NoLeader}
         \/ \E i \in DOMAIN p.isr : p.isr[i] = q.leader
         \/ \E i \in DOMAIN asked : asked[i] = q.leader

\* A broker takes over no request of an earlier controller or for an earlier registration.
StaleRequestsAreIgnored ==
  IsStep => \A b \in Ids :
    before.brokers[b].running /\ brokers[b].running =>
      /\ brokers[b].controllerEpoch >= before.brokers[b].controllerEpoch
      /\ \A t \in Numbers :
           brokers[b].replicas[t].leaderEpoch >= before.brokers[b].replicas[t].leaderEpoch
           \/ ~brokers[b].replicas[t].log  \* it has been deleted

=============================================================================

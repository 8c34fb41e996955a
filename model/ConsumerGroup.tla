---------------------------- MODULE ConsumerGroup ----------------------------
(* One consumer group at its coordinator, as Apache Kafka keeps it: the        *)
(* classic protocol, versions 0.10.0, 0.10.2, 2.7, 4.1. Each process of the    *)
(* algorithm is an API of the coordinator, or something else that happens to   *)
(* it; the labels are the names of the Python functions that transcribe them.  *)
(* The modules below are named as those in Python. TLC and the Python explorer *)
(* are held to the same states.                                                *)
(*                                                                             *)
(* A step of the coordinator is a value on its way: a record of the variables. *)
(* An operator that takes one gives the set of steps that may follow where     *)
(* Kafka leaves something open: who leads after the leader left, a tied vote,  *)
(* the order of timers due together.                                           *)
(*                                                                             *)
(* Comments name the rules and cite Kafka's source, at tag 2.7.2 where they    *)
(* say no other: GC is GroupCoordinator.scala, GM GroupMetadata.scala, GMM     *)
(* GroupMetadataManager.scala. At branch 4.1 GMM is GroupMetadataManager.java, *)
(* CG ClassicGroup.java, OMM OffsetMetadataManager.java, CR                    *)
(* CoordinatorRuntime.java, GCS GroupCoordinatorService.java.                  *)
EXTENDS Requests, Failover, Cleanup, Canonical, Clients

(*--algorithm ConsumerGroup

variables
  group   = NoGroup,
  holding = FALSE,  \* whether appends to the log stay incomplete
  appends = <<>>,   \* those that do
  serving = "served",  \* the partition; or "loading", or "unloaded"
  active  = TRUE,   \* not shut down
  failing = Fine,   \* the error of the next append
  log     = NoLog,  \* if it is kept
  committed = Everything,  \* what is read while something is written that is not committed
  answers = {};     \* what the last step answered

define
  \* What is told apart by the instances that do not look at the answers.
  State == <<group, holding, appends, serving, active, failing, log, committed>>
  Begin == [group |-> group, holding |-> holding, appends |-> appends, serving |-> serving,
            active |-> active, failing |-> failing, log |-> log, committed |-> committed,
            answers |-> {}, before |-> group, found |-> group # NoGroup,
            parks |-> NoMember]  \* whose JoinGroup this step parks

  \* The gate before each API: what it refuses with, "" if it is open. GC:856
  Gate(said) == IF ~active THEN "COORDINATOR_NOT_AVAILABLE"  \* not-active GC:859
                ELSE IF serving = "loading" /\ ~Old THEN said  \* loading GC:861
                ELSE IF serving # "served" THEN "NOT_COORDINATOR"  \* not-coordinator GC:863
                ELSE ""
  Refused == Gate("COORDINATOR_LOAD_IN_PROGRESS")
  RefusedSync == IF LoadsUnsynced THEN Gate("REBALANCE_IN_PROGRESS") ELSE Refused
  NoId(r) == ChecksEveryGroupId /\ r.groupId = "" /\ (active \/ ~ActiveFirst)
end define

\* The step ends in one of the ways it may.
macro Finish(steps, ticks) begin
  with t \in Ends(steps, ticks) do
    group   := t.group;
    holding := t.holding;
    appends := t.appends;
    serving := t.serving;
    active  := t.active;
    failing := t.failing;
    log     := t.log;
    committed := t.committed;
    answers := t.answers;
  end with;
end macro

macro Reply(answer) begin
  Finish({Answer(Begin, answer)}, 0);
end macro

process JoinGroup = "JoinGroup"
begin join_group:  \* GC:156
  while TRUE do
    with r \in JoinGroupRequests(group, log), g = Created(Begin).group, s = Created(Begin) do
      if ActiveFirst /\ ~active then          \* before the id: 0.10.2 GC:101, 4.1 GCS:851
        Reply(Refusal(Refused, r.memberId));
      elsif r.groupId = "" then                                 \* join/invalid-group-id GC:857
        Reply(Refusal("INVALID_GROUP_ID", r.memberId));
      elsif Refused # "" /\ ~RuntimeIsElsewhere then            \* gate GC:859
        Reply(Refusal(Refused, r.memberId));
      elsif r.sessionTicks = 0 then
        \* join/session-timeout-out-of-range GC:172
        Reply(Refusal("INVALID_SESSION_TIMEOUT", r.memberId));
      elsif Refused # "" then                                   \* gate 4.1 CR:2207,2209
        Reply(Refusal(Refused, NoMember));
      elsif Gone(group) /\ r.memberId # NoMember then           \* join/no-group GC:180
        Reply(Refusal("UNKNOWN_MEMBER_ID", r.memberId));
      elsif IsFull(g, r) then                                   \* join/group-full GC:184
        Finish(UNION {NotJoined(t) : t \in TurnAway(s, r)}, 0);
      elsif r.memberId = NoMember then
        if Inconsistent(g, r) then                              \* join/new-inconsistent GC:220
          Finish(NotJoined(Inconsistency(s, NoMember)), 0);
        elsif StandsFor(g, r.instance) # NoMember then
          Finish(Joined(ComeBack(s, r)), 0);
        elsif r.givesId /\ r.instance = NoInstance then
                                          \* join/member-id-required GC:227
          Finish(Recorded({GiveId(s, n) : n \in Free(g, log)}), 0);
        else                                                    \* join/new-member GC:238
          Finish(Joined(UNION {AddMember(s, n, r) : n \in Free(g, log)}), 0);
        end if;
      elsif Inconsistent(g, r) then                             \* join/inconsistent GC:262
        Finish(NotJoined(Inconsistency(s, r.memberId)), 0);
      elsif r.memberId \in DOMAIN g.pending /\ r.instance # NoInstance then
        \* join/pending-static GC:267
        Finish(NotJoined(Answer(s, JoinAnswer(This, "UNKNOWN_SERVER_ERROR", NoMember))), 0);
      elsif r.memberId \in DOMAIN g.pending then                \* join/pending-member GC:264
        Finish(Joined(AddMember(s, r.memberId, r)), 0);
      elsif Fenced(g, r) then                                   \* join/fenced GC:277
        Finish(NotJoined(Answer(s, Refusal("FENCED_INSTANCE_ID", r.memberId))), 0);
      elsif r.instance # NoInstance /\ StandsFor(g, r.instance) = NoMember then
        \* join/unknown-instance GC:280
        Finish(NotJoined(Answer(s, Refusal("UNKNOWN_MEMBER_ID", r.memberId))), 0);
      elsif r.memberId \notin DOMAIN g.members then             \* join/unknown-member GC:280
        Finish(NotJoined(Answer(s, Refusal("UNKNOWN_MEMBER_ID", r.memberId))), 0);
      elsif g.state = "PreparingRebalance" then                 \* join/rejoin-preparing GC:289
        Finish(Joined(Rejoin(s, r)), 0);
      elsif g.state = "CompletingRebalance" /\ Unchanged(g, r) then
        \* join/repeated-completing GC:293
        Reply(CurrentGeneration(Parked("JoinGroup", r.memberId), g, r.memberId));
      elsif g.state = "CompletingRebalance" then                \* join/changed-completing GC:311
        Finish(Joined(Rejoin(s, r)), 0);
      elsif g.leader = r.memberId then                          \* join/leader-stable GC:316
        Finish(Joined(Rejoin(s, r)), 0);
      elsif ~Unchanged(g, r) then                               \* join/changed-stable GC:321
        Finish(Joined(Rejoin(s, r)), 0);
      else                                                      \* join/repeated-stable GC:326
        Reply(CurrentGeneration(Parked("JoinGroup", r.memberId), g, r.memberId));
      end if;
    end with;
  end while;
end process

process SyncGroup = "SyncGroup"
begin sync_group:  \* GC:347
  while TRUE do
    with r \in SyncGroupRequests(group) do
      if SyncsByProtocol /\ r.protocolType = Null then
        \* sync/protocol-missing KafkaApis.scala:1585
        Reply(SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL"));
      elsif NoId(r) then                                        \* sync/invalid-group-id GC:857
        Reply(SyncAnswer(This, "INVALID_GROUP_ID"));
      elsif RefusedSync # "" then                               \* gate GC:357
        Reply(SyncAnswer(This, RefusedSync));
      elsif Gone(group) \/ r.groupId = "" then                  \* sync/no-group GC:367
        Reply(SyncAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif Unregistered(group, r) then         \* sync/unknown-instance 4.1 CG:805
        Reply(SyncAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif Fenced(group, r) then                               \* sync/fenced GC:389
        Reply(SyncAnswer(This, "FENCED_INSTANCE_ID"));
      \* In 4.1 the first of these is sync/empty-group, 4.1 GMM:7352.
      elsif group.state = "Empty" \/ r.memberId \notin DOMAIN group.members then
        \* sync/unknown-member GC:391
        Reply(SyncAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif r.generation # group.generation then                \* sync/other-generation GC:393
        Reply(SyncAnswer(This, "ILLEGAL_GENERATION"));
      elsif r.protocolType \notin {Null, group.protocolType} then
        \* sync/other-protocol-type GC:395
        Reply(SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL"));
      elsif /\ r.protocolName \notin {Null, group.protocolName}
            /\ ~(AnyUntilChosen /\ group.protocolName = Null) then
        \* sync/other-protocol-name GC:397
        Reply(SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL"));
      elsif group.state = "PreparingRebalance" then             \* sync/preparing GC:404
        Reply(SyncAnswer(This, "REBALANCE_IN_PROGRESS"));
      elsif group.state = "CompletingRebalance" /\ group.leader = r.memberId then
        \* sync/leader-completing GC:411
        Finish(StoreAssignments(ParkSync(Begin, r.memberId), r.assignments), 0);
      elsif group.state = "CompletingRebalance" then            \* sync/follower-completing GC:408
        Finish({HoldRequest(ParkSync(Begin, r.memberId), "SyncGroup", r.memberId)}, 0);
      else                                                      \* sync/stable GC:441
        Finish({Answer(Synced(Begin, r.memberId),
                       [SyncAnswer(Parked("SyncGroup", r.memberId), "NONE") EXCEPT
                          !.protocolType = group.protocolType, !.protocolName = group.protocolName,
                          !.assignment = group.members[r.memberId].assignment])}, 0);
      end if;
    end with;
  end while;
end process

process Heartbeat = "Heartbeat"
begin heartbeat:  \* GC:607
  while TRUE do
    with r \in HeartbeatRequests(group) do
      if NoId(r) then
        \* heartbeat/invalid-group-id GC:857
        Reply(ErrorAnswer(This, "INVALID_GROUP_ID"));
      elsif Gate("NONE") # "" then                              \* gate GC:615
        Reply(ErrorAnswer(This, Gate("NONE")));
      elsif Gone(group) \/ r.groupId = "" then                  \* heartbeat/no-group GC:622
        Reply(ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif Unregistered(group, r) then         \* heartbeat/unknown-instance 4.1 CG:805
        Reply(ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif Fenced(group, r) then                               \* heartbeat/fenced GC:632
        Reply(ErrorAnswer(This, "FENCED_INSTANCE_ID"));
      elsif ~AliveInPreparing /\ group.state # "Stable" then
        \* heartbeat/unstable 0.10.0 GC:363
        Reply(ErrorAnswer(This, "REBALANCE_IN_PROGRESS"));
      elsif r.memberId \notin DOMAIN group.members then         \* heartbeat/unknown-member GC:634
        Reply(ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif group.state = "CompletingRebalance" /\ ~AliveInCompleting then
        \* heartbeat/completing 0.10.2 GC:367
        Reply(ErrorAnswer(This, "REBALANCE_IN_PROGRESS"));
      elsif r.generation # group.generation then                \* heartbeat/other-generation GC:636
        Reply(ErrorAnswer(This, "ILLEGAL_GENERATION"));
      elsif group.state = "PreparingRebalance" then             \* heartbeat/preparing GC:650
        Finish({Later(Rearmed(Begin, r.memberId), "Heartbeat",
                      ErrorAnswer(This, "REBALANCE_IN_PROGRESS"))}, 0);
      else                                                      \* heartbeat/alive GC:643
        Finish({Later(Rearmed(Begin, r.memberId), "Heartbeat", ErrorAnswer(This, "NONE"))}, 0);
      end if;
    end with;
  end while;
end process

process LeaveGroup = "LeaveGroup"
begin leave_group:  \* GC:454
  while TRUE do
    with r \in LeaveGroupRequests(group) do
      if NoId(r) then                                           \* leave/invalid-group-id GC:857
        Reply(LeaveAnswer(r, "INVALID_GROUP_ID", ""));
      elsif Refused # "" then                                   \* gate GC:859
        Reply(LeaveAnswer(r, Refused, ""));
      elsif Gone(group) \/ r.groupId = "" then                  \* leave/no-group GC:462
        Reply(LeaveAnswer(r, "NONE", "UNKNOWN_MEMBER_ID"));
      else                                                      \* leave/batch GC:471
        Finish(LeaveFrom(Begin, r.members, <<>>, 1), 0);
      end if;
    end with;
  end while;
end process

process OffsetCommit = "OffsetCommit"
begin offset_commit:  \* GC:686
  while TRUE do
    with r \in OffsetCommitRequests(group) do
      if r.nothing then
        \* commit/nothing KafkaApis.scala:434
        Reply(ErrorAnswer(This, "NONE"));
      elsif Refused # "" then                                   \* gate GC:859
        Reply(ErrorAnswer(This, Refused));
      elsif Gone(group) /\ r.generation < 0 then                \* commit/simple-no-group GC:697
        Finish(StoreOffsets(OffsetsOnly(Begin), r), 0);
      elsif Gone(group) then                                    \* commit/no-group GC:701
        \* commit/not-found 4.1 OMM:468
        Reply(ErrorAnswer(This,
          IF SaysNotFound THEN "GROUP_ID_NOT_FOUND" ELSE "ILLEGAL_GENERATION"));
      elsif Fenced(group, r) then                               \* commit/fenced GC:762
        Reply(ErrorAnswer(This, "FENCED_INSTANCE_ID"));
      elsif group.state = "Empty" /\ r.generation < 0 then      \* commit/simple-empty GC:764
        Finish(StoreOffsets(Begin, r), 0);
      elsif Unregistered(group, r) then         \* commit/unknown-instance 4.1 CG:805
        Reply(ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif CompletingFirst /\ group.state = "CompletingRebalance" then
        \* commit/completing 0.10.2 GC:439
        Reply(ErrorAnswer(This, "REBALANCE_IN_PROGRESS"));
      elsif r.memberId \notin DOMAIN group.members then
        \* commit/simple-in-use 4.1 CG:853, commit/unknown-member GC:767
        Reply(ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif r.generation # group.generation then                \* commit/other-generation GC:769
        Reply(ErrorAnswer(This, "ILLEGAL_GENERATION"));
      elsif group.state = "CompletingRebalance" then            \* commit/completing GC:780
        Reply(ErrorAnswer(This, "REBALANCE_IN_PROGRESS"));
      else                                                      \* commit/member GC:773
        Finish(StoreOffsets(Rearmed(Begin, r.memberId), r), 0);
      end if;
    end with;
  end while;
end process

process OffsetFetch = "OffsetFetch"
begin offset_fetch:  \* GC:794
  while TRUE do
    with r \in OffsetFetchRequests(group) do
      if Refused # "" then                                      \* gate GC:859
        Reply([to |-> This, error |-> Refused, offset |-> -1]);
      else
        Finish(Fetched(Begin, r), 0);
      end if;
    end with;
  end while;
end process

process DescribeGroups = "DescribeGroups"
begin describe_groups:  \* GC:820
  while TRUE do
    if Refused # "" then                                        \* gate GC:859
      Reply(NotDescribed(Refused));
    else
      Finish(Read(Begin, Described), 0);
    end if;
  end while;
end process

process TxnOffsetCommit = "TxnOffsetCommit"
begin txn_offset_commit:  \* GC:668
  while TRUE do
    with r \in TxnOffsetCommitRequests(group), s = Commenced(Begin) do
      if r.nothing then
        \* txn-commit/nothing KafkaApis.scala:2393
        Reply(ErrorAnswer(This, "NONE"));
      elsif NoId(r) then
        \* txn-commit/invalid-group-id GC:857
        Reply(ErrorAnswer(This, "INVALID_GROUP_ID"));
      elsif Refused # "" then                                   \* gate GC:859
        Reply(ErrorAnswer(This, Refused));
      elsif TxnAsMembers /\ Gone(group) /\ r.generation >= 0 then
        \* txn-commit/no-group 4.1 OMM:513
        Reply(ErrorAnswer(This, "ILLEGAL_GENERATION"));
      elsif TxnAsMembers /\ s.group.state = "Empty" /\ r.generation < 0 then
        \* txn-commit/simple 4.1 CG:840
        Finish(StoreTransaction(s, r), 0);
      elsif Unregistered(s.group, r) then                       \* txn-commit/unknown-instance
        Reply(ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif Fenced(s.group, r) then                             \* txn-commit/fenced GC:735
        Reply(ErrorAnswer(This, "FENCED_INSTANCE_ID"));
      elsif NamesMember(r) /\ r.memberId \notin DOMAIN s.group.members then
        \* txn-commit/unknown-member GC:737
        Finish({Answer(s, ErrorAnswer(This, "UNKNOWN_MEMBER_ID"))}, 0);
      elsif NamesGeneration(r) /\ r.generation # s.group.generation then
        \* txn-commit/other-generation GC:740
        Finish({Answer(s, ErrorAnswer(This, "ILLEGAL_GENERATION"))}, 0);
      else                                                      \* txn-commit/pending GC:744
        Finish(StoreTransaction(s, r), 0);
      end if;
    end with;
  end while;
end process

process EndTxn = "EndTxn"
begin end_txn:  \* GMM:883
  while TRUE do
    with r \in EndTxnRequests(Begin) do
      if NoId(r) then                                           \* end-txn/invalid-group-id GC:857
        Reply(ErrorAnswer(This, "INVALID_GROUP_ID"));
      elsif WritesMarkers /\ Refused # "" then
        \* gate 4.1 GCS:2093, as a transaction's coordinator is told: KafkaApis.scala:1797
        Reply(ErrorAnswer(This, "NOT_LEADER_OR_FOLLOWER"));
      elsif WritesMarkers /\ failing # Fine then                \* end-txn/not-written 4.1 CR:1187
        Finish(NotMarked(Begin), 0);
      elsif ~active then                                        \* end-txn/not-active
        Finish({Answer(Marked(Begin, r.committed),
                       ErrorAnswer(This, "UNKNOWN_SERVER_ERROR"))}, 0);
      elsif Gone(group) \/ ~group.awaited then                  \* end-txn/nothing-pending GMM:884
        Finish({Later(Marked(Begin, r.committed), "EndTxn", ErrorAnswer(This, "NONE"))}, 0);
      else                        \* end-txn/committed GM:670, end-txn/aborted GM:661
        Finish({Later(Ended(Marked(Begin, r.committed), r.committed), "EndTxn",
                      ErrorAnswer(This, "NONE"))}, 0);
      end if;
    end with;
  end while;
end process

process ListGroups = "ListGroups"
begin list_groups:  \* GC:806
  while TRUE do
    with r \in ListGroupsRequests do
      if ~active then                                           \* list/not-active GC:808
        Reply([to |-> This, error |-> Refused, groups |-> {}]);
      elsif serving = "loading" then                            \* list/loading GC:810
        Reply([to |-> This, error |-> "COORDINATOR_LOAD_IN_PROGRESS", groups |-> {}]);
      else
        Finish(ReadList(Begin, r), 0);
      end if;
    end with;
  end while;
end process

process DeleteGroups = "DeleteGroups"
begin delete_groups:  \* GC:510
  while TRUE do
    await Administered /\ DeletesGroups;
    if Refused # "" then                                        \* gate GC:859
      Reply(DeleteAnswer("NONE", {Refused}));
    elsif Gone(group) then                                      \* delete/no-group GC:523
      Finish({Later(Begin, "DeleteGroups", DeleteAnswer("NONE", {"GROUP_ID_NOT_FOUND"}))}, 0);
    elsif group.state # "Empty" then                            \* delete/not-empty GC:534
      Finish({Later(Begin, "DeleteGroups", DeleteAnswer("NONE", {"NON_EMPTY_GROUP"}))}, 0);
    elsif RemovalFails(Begin, TRUE) then                        \* delete/not-stored 4.1 GCS:1438
      Finish({Answer(t, DeleteAnswer("NONE", {CommitError(failing)})) : t \in NotRemoved(Begin)}, 0);
    else                                                        \* delete/empty GC:530
      Finish({Later(Deleted(Removed(Begin, HasOffset(group), TRUE)), "DeleteGroups",
                    DeleteAnswer("NONE", {"NONE"}))}, 0);
    end if;
  end while;
end process

process OffsetDelete = "OffsetDelete"
begin offset_delete:  \* GC:551
  while TRUE do
    with r \in OffsetDeleteRequests(group) do
      if NoId(r) then
        \* offset-delete/invalid-group-id GC:857
        Reply(OffsetDeleteAnswer("INVALID_GROUP_ID", {}));
      elsif Refused # "" then                                   \* gate GC:859
        Reply(OffsetDeleteAnswer(Refused, {}));
      elsif Gone(group) then                                    \* offset-delete/no-group GC:563
        Reply(OffsetDeleteAnswer("GROUP_ID_NOT_FOUND", {}));
      elsif group.state = "Empty" then                          \* offset-delete/empty GC:574
        Finish(OffsetDeleted(Begin, r.topic), 0);
      elsif group.protocolType = "consumer" /\ r.topic \in group.subscribed then
        \* offset-delete/consumers GC:577
        Finish({Later(Begin, "OffsetDelete",
                      OffsetDeleteAnswer("NONE", {<<r.topic, "GROUP_SUBSCRIBED_TO_TOPIC">>}))}, 0);
      elsif group.protocolType = "consumer" then                \* offset-delete/consumers GC:577
        Finish(OffsetDeleted(Begin, r.topic), 0);
      else                                         \* offset-delete/not-consumers GC:584
        Reply(OffsetDeleteAnswer("NON_EMPTY_GROUP", {}));
      end if;
    end with;
  end while;
end process

process Advance = "Advance"
begin advance:
  while TRUE do
    if Timed then
      Finish({Begin}, 1);
    else
      await group # NoGroup /\ group.joinTimer.initial;
      Finish({Begin}, group.joinTimer.left);
    end if;
  end while;
end process

process Cleanup = "Cleanup"
begin cleanup:  \* GMM:784
  while TRUE do
    await Expires;
    Finish(Cleaned(Begin), 0);
  end while;
end process

process HoldAppends = "HoldAppends"
begin hold_appends:  \* GMM:323
  while TRUE do
    await MaxHeld > 0 /\ ~holding;
    Finish({[Begin EXCEPT !.holding = TRUE]}, 0);
  end while;
end process

process ReleaseAppends = "ReleaseAppends"
begin release_appends:  \* GMM:323
  while TRUE do
    await holding;
    Finish(Released(Begin), 0);
  end while;
end process

process FailAppends = "FailAppends"
begin fail_appends:  \* GMM:276
  while TRUE do
    await Fails /\ failing = Fine;
    with error \in {"NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT"} do
      Finish({[Begin EXCEPT !.failing = error]}, 0);
    end with;
  end while;
end process

process Crash = "Crash"
begin crash:  \* GMM:544
  while TRUE do
    await Logged;
    Finish({Crashed(Begin)}, 0);
  end while;
end process

process Unload = "Unload"
begin unload:  \* GMM:752
  while TRUE do
    await Moves /\ active /\ serving # "unloaded";
    Finish({Unloaded(Begin)}, 0);
  end while;
end process

process Loading = "Loading"
begin loading:  \* GMM:533
  while TRUE do
    await Moves /\ active /\ serving # "loading";
    Finish({[Unloaded(Begin) EXCEPT !.serving = "loading"]}, 0);
  end while;
end process

process Load = "Load"
begin load:  \* GMM:558
  while TRUE do
    await Moves /\ active /\ serving # "served";
    Finish({Loaded(Begin)}, 0);
  end while;
end process

process Shutdown = "Shutdown"
begin shutdown:  \* GC:118
  while TRUE do
    await Moves /\ active;
    Finish({ShutDown(Begin)}, 0);
  end while;
end process

end algorithm; *)
\* BEGIN TRANSLATION - the hash of the PCal code: PCal-7c54fe80e6f4dee6ea90a5f3ab8a4666
VARIABLES group, holding, appends, serving, active, failing, log, committed, 
          answers

(* define statement *)
State == <<group, holding, appends, serving, active, failing, log, committed>>
Begin == [group |-> group, holding |-> holding, appends |-> appends, serving |-> serving,
          active |-> active, failing |-> failing, log |-> log, committed |-> committed,
          answers |-> {}, before |-> group, found |-> group # NoGroup,
          parks |-> NoMember]


Gate(said) == IF ~active THEN "COORDINATOR_NOT_AVAILABLE"
              ELSE IF serving = "loading" /\ ~Old THEN said
              ELSE IF serving # "served" THEN "NOT_COORDINATOR"
              ELSE ""
Refused == Gate("COORDINATOR_LOAD_IN_PROGRESS")
RefusedSync == IF LoadsUnsynced THEN Gate("REBALANCE_IN_PROGRESS") ELSE Refused
NoId(r) == ChecksEveryGroupId /\ r.groupId = "" /\ (active \/ ~ActiveFirst)


vars == << group, holding, appends, serving, active, failing, log, committed, 
           answers >>

ProcSet == {"JoinGroup"} \cup {"SyncGroup"} \cup {"Heartbeat"} \cup {"LeaveGroup"} \cup {"OffsetCommit"} \cup {"OffsetFetch"} \cup {"DescribeGroups"} \cup {"TxnOffsetCommit"} \cup {"EndTxn"} \cup {"ListGroups"} \cup {"DeleteGroups"} \cup {"OffsetDelete"} \cup {"Advance"} \cup {"Cleanup"} \cup {"HoldAppends"} \cup {"ReleaseAppends"} \cup {"FailAppends"} \cup {"Crash"} \cup {"Unload"} \cup {"Loading"} \cup {"Load"} \cup {"Shutdown"}

Init == (* Global variables *)
        /\ group = NoGroup
        /\ holding = FALSE
        /\ appends = <<>>
        /\ serving = "served"
        /\ active = TRUE
        /\ failing = Fine
        /\ log = NoLog
        /\ committed = Everything
        /\ answers = {}

JoinGroup == \E r \in JoinGroupRequests(group, log):
               LET g == Created(Begin).group IN
                 LET s == Created(Begin) IN
                   IF ActiveFirst /\ ~active
                      THEN /\ \E t \in Ends(({Answer(Begin, (Refusal(Refused, r.memberId)))}), 0):
                                /\ group' = t.group
                                /\ holding' = t.holding
                                /\ appends' = t.appends
                                /\ serving' = t.serving
                                /\ active' = t.active
                                /\ failing' = t.failing
                                /\ log' = t.log
                                /\ committed' = t.committed
                                /\ answers' = t.answers
                      ELSE /\ IF r.groupId = ""
                                 THEN /\ \E t \in Ends(({Answer(Begin, (Refusal("INVALID_GROUP_ID", r.memberId)))}), 0):
                                           /\ group' = t.group
                                           /\ holding' = t.holding
                                           /\ appends' = t.appends
                                           /\ serving' = t.serving
                                           /\ active' = t.active
                                           /\ failing' = t.failing
                                           /\ log' = t.log
                                           /\ committed' = t.committed
                                           /\ answers' = t.answers
                                 ELSE /\ IF Refused # "" /\ ~RuntimeIsElsewhere
                                            THEN /\ \E t \in Ends(({Answer(Begin, (Refusal(Refused, r.memberId)))}), 0):
                                                      /\ group' = t.group
                                                      /\ holding' = t.holding
                                                      /\ appends' = t.appends
                                                      /\ serving' = t.serving
                                                      /\ active' = t.active
                                                      /\ failing' = t.failing
                                                      /\ log' = t.log
                                                      /\ committed' = t.committed
                                                      /\ answers' = t.answers
                                            ELSE /\ IF r.sessionTicks = 0
                                                       THEN /\ \E t \in Ends(({Answer(Begin, (Refusal("INVALID_SESSION_TIMEOUT", r.memberId)))}), 0):
                                                                 /\ group' = t.group
                                                                 /\ holding' = t.holding
                                                                 /\ appends' = t.appends
                                                                 /\ serving' = t.serving
                                                                 /\ active' = t.active
                                                                 /\ failing' = t.failing
                                                                 /\ log' = t.log
                                                                 /\ committed' = t.committed
                                                                 /\ answers' = t.answers
                                                       ELSE /\ IF Refused # ""
                                                                  THEN /\ \E t \in Ends(({Answer(Begin, (Refusal(Refused, NoMember)))}), 0):
                                                                            /\ group' = t.group
                                                                            /\ holding' = t.holding
                                                                            /\ appends' = t.appends
                                                                            /\ serving' = t.serving
                                                                            /\ active' = t.active
                                                                            /\ failing' = t.failing
                                                                            /\ log' = t.log
                                                                            /\ committed' = t.committed
                                                                            /\ answers' = t.answers
                                                                  ELSE /\ IF Gone(group) /\ r.memberId # NoMember
                                                                             THEN /\ \E t \in Ends(({Answer(Begin, (Refusal("UNKNOWN_MEMBER_ID", r.memberId)))}), 0):
                                                                                       /\ group' = t.group
                                                                                       /\ holding' = t.holding
                                                                                       /\ appends' = t.appends
                                                                                       /\ serving' = t.serving
                                                                                       /\ active' = t.active
                                                                                       /\ failing' = t.failing
                                                                                       /\ log' = t.log
                                                                                       /\ committed' = t.committed
                                                                                       /\ answers' = t.answers
                                                                             ELSE /\ IF IsFull(g, r)
                                                                                        THEN /\ \E t \in Ends((UNION {NotJoined(t) : t \in TurnAway(s, r)}), 0):
                                                                                                  /\ group' = t.group
                                                                                                  /\ holding' = t.holding
                                                                                                  /\ appends' = t.appends
                                                                                                  /\ serving' = t.serving
                                                                                                  /\ active' = t.active
                                                                                                  /\ failing' = t.failing
                                                                                                  /\ log' = t.log
                                                                                                  /\ committed' = t.committed
                                                                                                  /\ answers' = t.answers
                                                                                        ELSE /\ IF r.memberId = NoMember
                                                                                                   THEN /\ IF Inconsistent(g, r)
                                                                                                              THEN /\ \E t \in Ends((NotJoined(Inconsistency(s, NoMember))), 0):
                                                                                                                        /\ group' = t.group
                                                                                                                        /\ holding' = t.holding
                                                                                                                        /\ appends' = t.appends
                                                                                                                        /\ serving' = t.serving
                                                                                                                        /\ active' = t.active
                                                                                                                        /\ failing' = t.failing
                                                                                                                        /\ log' = t.log
                                                                                                                        /\ committed' = t.committed
                                                                                                                        /\ answers' = t.answers
                                                                                                              ELSE /\ IF StandsFor(g, r.instance) # NoMember
                                                                                                                         THEN /\ \E t \in Ends((Joined(ComeBack(s, r))), 0):
                                                                                                                                   /\ group' = t.group
                                                                                                                                   /\ holding' = t.holding
                                                                                                                                   /\ appends' = t.appends
                                                                                                                                   /\ serving' = t.serving
                                                                                                                                   /\ active' = t.active
                                                                                                                                   /\ failing' = t.failing
                                                                                                                                   /\ log' = t.log
                                                                                                                                   /\ committed' = t.committed
                                                                                                                                   /\ answers' = t.answers
                                                                                                                         ELSE /\ IF r.givesId /\ r.instance = NoInstance
                                                                                                                                    THEN /\ \E t \in Ends((Recorded({GiveId(s, n) : n \in Free(g, log)})), 0):
                                                                                                                                              /\ group' = t.group
                                                                                                                                              /\ holding' = t.holding
                                                                                                                                              /\ appends' = t.appends
                                                                                                                                              /\ serving' = t.serving
                                                                                                                                              /\ active' = t.active
                                                                                                                                              /\ failing' = t.failing
                                                                                                                                              /\ log' = t.log
                                                                                                                                              /\ committed' = t.committed
                                                                                                                                              /\ answers' = t.answers
                                                                                                                                    ELSE /\ \E t \in Ends((Joined(UNION {AddMember(s, n, r) : n \in Free(g, log)})), 0):
                                                                                                                                              /\ group' = t.group
                                                                                                                                              /\ holding' = t.holding
                                                                                                                                              /\ appends' = t.appends
                                                                                                                                              /\ serving' = t.serving
                                                                                                                                              /\ active' = t.active
                                                                                                                                              /\ failing' = t.failing
                                                                                                                                              /\ log' = t.log
                                                                                                                                              /\ committed' = t.committed
                                                                                                                                              /\ answers' = t.answers
                                                                                                   ELSE /\ IF Inconsistent(g, r)
                                                                                                              THEN /\ \E t \in Ends((NotJoined(Inconsistency(s, r.memberId))), 0):
                                                                                                                        /\ group' = t.group
                                                                                                                        /\ holding' = t.holding
                                                                                                                        /\ appends' = t.appends
                                                                                                                        /\ serving' = t.serving
                                                                                                                        /\ active' = t.active
                                                                                                                        /\ failing' = t.failing
                                                                                                                        /\ log' = t.log
                                                                                                                        /\ committed' = t.committed
                                                                                                                        /\ answers' = t.answers
                                                                                                              ELSE /\ IF r.memberId \in DOMAIN g.pending /\ r.instance # NoInstance
                                                                                                                         THEN /\ \E t \in Ends((NotJoined(Answer(s, JoinAnswer(This, "UNKNOWN_SERVER_ERROR", NoMember)))), 0):
                                                                                                                                   /\ group' = t.group
                                                                                                                                   /\ holding' = t.holding
                                                                                                                                   /\ appends' = t.appends
                                                                                                                                   /\ serving' = t.serving
                                                                                                                                   /\ active' = t.active
                                                                                                                                   /\ failing' = t.failing
                                                                                                                                   /\ log' = t.log
                                                                                                                                   /\ committed' = t.committed
                                                                                                                                   /\ answers' = t.answers
                                                                                                                         ELSE /\ IF r.memberId \in DOMAIN g.pending
                                                                                                                                    THEN /\ \E t \in Ends((Joined(AddMember(s, r.memberId, r))), 0):
                                                                                                                                              /\ group' = t.group
                                                                                                                                              /\ holding' = t.holding
                                                                                                                                              /\ appends' = t.appends
                                                                                                                                              /\ serving' = t.serving
                                                                                                                                              /\ active' = t.active
                                                                                                                                              /\ failing' = t.failing
                                                                                                                                              /\ log' = t.log
                                                                                                                                              /\ committed' = t.committed
                                                                                                                                              /\ answers' = t.answers
                                                                                                                                    ELSE /\ IF Fenced(g, r)
                                                                                                                                               THEN /\ \E t \in Ends((NotJoined(Answer(s, Refusal("FENCED_INSTANCE_ID", r.memberId)))), 0):
                                                                                                                                                         /\ group' = t.group
                                                                                                                                                         /\ holding' = t.holding
                                                                                                                                                         /\ appends' = t.appends
                                                                                                                                                         /\ serving' = t.serving
                                                                                                                                                         /\ active' = t.active
                                                                                                                                                         /\ failing' = t.failing
                                                                                                                                                         /\ log' = t.log
                                                                                                                                                         /\ committed' = t.committed
                                                                                                                                                         /\ answers' = t.answers
                                                                                                                                               ELSE /\ IF r.instance # NoInstance /\ StandsFor(g, r.instance) = NoMember
                                                                                                                                                          THEN /\ \E t \in Ends((NotJoined(Answer(s, Refusal("UNKNOWN_MEMBER_ID", r.memberId)))), 0):
                                                                                                                                                                    /\ group' = t.group
                                                                                                                                                                    /\ holding' = t.holding
                                                                                                                                                                    /\ appends' = t.appends
                                                                                                                                                                    /\ serving' = t.serving
                                                                                                                                                                    /\ active' = t.active
                                                                                                                                                                    /\ failing' = t.failing
                                                                                                                                                                    /\ log' = t.log
                                                                                                                                                                    /\ committed' = t.committed
                                                                                                                                                                    /\ answers' = t.answers
                                                                                                                                                          ELSE /\ IF r.memberId \notin DOMAIN g.members
                                                                                                                                                                     THEN /\ \E t \in Ends((NotJoined(Answer(s, Refusal("UNKNOWN_MEMBER_ID", r.memberId)))), 0):
                                                                                                                                                                               /\ group' = t.group
                                                                                                                                                                               /\ holding' = t.holding
                                                                                                                                                                               /\ appends' = t.appends
                                                                                                                                                                               /\ serving' = t.serving
                                                                                                                                                                               /\ active' = t.active
                                                                                                                                                                               /\ failing' = t.failing
                                                                                                                                                                               /\ log' = t.log
                                                                                                                                                                               /\ committed' = t.committed
                                                                                                                                                                               /\ answers' = t.answers
                                                                                                                                                                     ELSE /\ IF g.state = "PreparingRebalance"
                                                                                                                                                                                THEN /\ \E t \in Ends((Joined(Rejoin(s, r))), 0):
                                                                                                                                                                                          /\ group' = t.group
                                                                                                                                                                                          /\ holding' = t.holding
                                                                                                                                                                                          /\ appends' = t.appends
                                                                                                                                                                                          /\ serving' = t.serving
                                                                                                                                                                                          /\ active' = t.active
                                                                                                                                                                                          /\ failing' = t.failing
                                                                                                                                                                                          /\ log' = t.log
                                                                                                                                                                                          /\ committed' = t.committed
                                                                                                                                                                                          /\ answers' = t.answers
                                                                                                                                                                                ELSE /\ IF g.state = "CompletingRebalance" /\ Unchanged(g, r)
                                                                                                                                                                                           THEN /\ \E t \in Ends(({Answer(Begin, (CurrentGeneration(Parked("JoinGroup", r.memberId), g, r.memberId)))}), 0):
                                                                                                                                                                                                     /\ group' = t.group
                                                                                                                                                                                                     /\ holding' = t.holding
                                                                                                                                                                                                     /\ appends' = t.appends
                                                                                                                                                                                                     /\ serving' = t.serving
                                                                                                                                                                                                     /\ active' = t.active
                                                                                                                                                                                                     /\ failing' = t.failing
                                                                                                                                                                                                     /\ log' = t.log
                                                                                                                                                                                                     /\ committed' = t.committed
                                                                                                                                                                                                     /\ answers' = t.answers
                                                                                                                                                                                           ELSE /\ IF g.state = "CompletingRebalance"
                                                                                                                                                                                                      THEN /\ \E t \in Ends((Joined(Rejoin(s, r))), 0):
                                                                                                                                                                                                                /\ group' = t.group
                                                                                                                                                                                                                /\ holding' = t.holding
                                                                                                                                                                                                                /\ appends' = t.appends
                                                                                                                                                                                                                /\ serving' = t.serving
                                                                                                                                                                                                                /\ active' = t.active
                                                                                                                                                                                                                /\ failing' = t.failing
                                                                                                                                                                                                                /\ log' = t.log
                                                                                                                                                                                                                /\ committed' = t.committed
                                                                                                                                                                                                                /\ answers' = t.answers
                                                                                                                                                                                                      ELSE /\ IF g.leader = r.memberId
                                                                                                                                                                                                                 THEN /\ \E t \in Ends((Joined(Rejoin(s, r))), 0):
                                                                                                                                                                                                                           /\ group' = t.group
                                                                                                                                                                                                                           /\ holding' = t.holding
                                                                                                                                                                                                                           /\ appends' = t.appends
                                                                                                                                                                                                                           /\ serving' = t.serving
                                                                                                                                                                                                                           /\ active' = t.active
                                                                                                                                                                                                                           /\ failing' = t.failing
                                                                                                                                                                                                                           /\ log' = t.log
                                                                                                                                                                                                                           /\ committed' = t.committed
                                                                                                                                                                                                                           /\ answers' = t.answers
                                                                                                                                                                                                                 ELSE /\ IF ~Unchanged(g, r)
                                                                                                                                                                                                                            THEN /\ \E t \in Ends((Joined(Rejoin(s, r))), 0):
                                                                                                                                                                                                                                      /\ group' = t.group
                                                                                                                                                                                                                                      /\ holding' = t.holding
                                                                                                                                                                                                                                      /\ appends' = t.appends
                                                                                                                                                                                                                                      /\ serving' = t.serving
                                                                                                                                                                                                                                      /\ active' = t.active
                                                                                                                                                                                                                                      /\ failing' = t.failing
                                                                                                                                                                                                                                      /\ log' = t.log
                                                                                                                                                                                                                                      /\ committed' = t.committed
                                                                                                                                                                                                                                      /\ answers' = t.answers
                                                                                                                                                                                                                            ELSE /\ \E t \in Ends(({Answer(Begin, (CurrentGeneration(Parked("JoinGroup", r.memberId), g, r.memberId)))}), 0):
                                                                                                                                                                                                                                      /\ group' = t.group
                                                                                                                                                                                                                                      /\ holding' = t.holding
                                                                                                                                                                                                                                      /\ appends' = t.appends
                                                                                                                                                                                                                                      /\ serving' = t.serving
                                                                                                                                                                                                                                      /\ active' = t.active
                                                                                                                                                                                                                                      /\ failing' = t.failing
                                                                                                                                                                                                                                      /\ log' = t.log
                                                                                                                                                                                                                                      /\ committed' = t.committed
                                                                                                                                                                                                                                      /\ answers' = t.answers

SyncGroup == \E r \in SyncGroupRequests(group):
               IF SyncsByProtocol /\ r.protocolType = Null
                  THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL")))}), 0):
                            /\ group' = t.group
                            /\ holding' = t.holding
                            /\ appends' = t.appends
                            /\ serving' = t.serving
                            /\ active' = t.active
                            /\ failing' = t.failing
                            /\ log' = t.log
                            /\ committed' = t.committed
                            /\ answers' = t.answers
                  ELSE /\ IF NoId(r)
                             THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "INVALID_GROUP_ID")))}), 0):
                                       /\ group' = t.group
                                       /\ holding' = t.holding
                                       /\ appends' = t.appends
                                       /\ serving' = t.serving
                                       /\ active' = t.active
                                       /\ failing' = t.failing
                                       /\ log' = t.log
                                       /\ committed' = t.committed
                                       /\ answers' = t.answers
                             ELSE /\ IF RefusedSync # ""
                                        THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, RefusedSync)))}), 0):
                                                  /\ group' = t.group
                                                  /\ holding' = t.holding
                                                  /\ appends' = t.appends
                                                  /\ serving' = t.serving
                                                  /\ active' = t.active
                                                  /\ failing' = t.failing
                                                  /\ log' = t.log
                                                  /\ committed' = t.committed
                                                  /\ answers' = t.answers
                                        ELSE /\ IF Gone(group) \/ r.groupId = ""
                                                   THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                             /\ group' = t.group
                                                             /\ holding' = t.holding
                                                             /\ appends' = t.appends
                                                             /\ serving' = t.serving
                                                             /\ active' = t.active
                                                             /\ failing' = t.failing
                                                             /\ log' = t.log
                                                             /\ committed' = t.committed
                                                             /\ answers' = t.answers
                                                   ELSE /\ IF Unregistered(group, r)
                                                              THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                        /\ group' = t.group
                                                                        /\ holding' = t.holding
                                                                        /\ appends' = t.appends
                                                                        /\ serving' = t.serving
                                                                        /\ active' = t.active
                                                                        /\ failing' = t.failing
                                                                        /\ log' = t.log
                                                                        /\ committed' = t.committed
                                                                        /\ answers' = t.answers
                                                              ELSE /\ IF Fenced(group, r)
                                                                         THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "FENCED_INSTANCE_ID")))}), 0):
                                                                                   /\ group' = t.group
                                                                                   /\ holding' = t.holding
                                                                                   /\ appends' = t.appends
                                                                                   /\ serving' = t.serving
                                                                                   /\ active' = t.active
                                                                                   /\ failing' = t.failing
                                                                                   /\ log' = t.log
                                                                                   /\ committed' = t.committed
                                                                                   /\ answers' = t.answers
                                                                         ELSE /\ IF group.state = "Empty" \/ r.memberId \notin DOMAIN group.members
                                                                                    THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                                              /\ group' = t.group
                                                                                              /\ holding' = t.holding
                                                                                              /\ appends' = t.appends
                                                                                              /\ serving' = t.serving
                                                                                              /\ active' = t.active
                                                                                              /\ failing' = t.failing
                                                                                              /\ log' = t.log
                                                                                              /\ committed' = t.committed
                                                                                              /\ answers' = t.answers
                                                                                    ELSE /\ IF r.generation # group.generation
                                                                                               THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "ILLEGAL_GENERATION")))}), 0):
                                                                                                         /\ group' = t.group
                                                                                                         /\ holding' = t.holding
                                                                                                         /\ appends' = t.appends
                                                                                                         /\ serving' = t.serving
                                                                                                         /\ active' = t.active
                                                                                                         /\ failing' = t.failing
                                                                                                         /\ log' = t.log
                                                                                                         /\ committed' = t.committed
                                                                                                         /\ answers' = t.answers
                                                                                               ELSE /\ IF r.protocolType \notin {Null, group.protocolType}
                                                                                                          THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL")))}), 0):
                                                                                                                    /\ group' = t.group
                                                                                                                    /\ holding' = t.holding
                                                                                                                    /\ appends' = t.appends
                                                                                                                    /\ serving' = t.serving
                                                                                                                    /\ active' = t.active
                                                                                                                    /\ failing' = t.failing
                                                                                                                    /\ log' = t.log
                                                                                                                    /\ committed' = t.committed
                                                                                                                    /\ answers' = t.answers
                                                                                                          ELSE /\ IF /\ r.protocolName \notin {Null, group.protocolName}
                                                                                                                     /\ ~(AnyUntilChosen /\ group.protocolName = Null)
                                                                                                                     THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL")))}), 0):
                                                                                                                               /\ group' = t.group
                                                                                                                               /\ holding' = t.holding
                                                                                                                               /\ appends' = t.appends
                                                                                                                               /\ serving' = t.serving
                                                                                                                               /\ active' = t.active
                                                                                                                               /\ failing' = t.failing
                                                                                                                               /\ log' = t.log
                                                                                                                               /\ committed' = t.committed
                                                                                                                               /\ answers' = t.answers
                                                                                                                     ELSE /\ IF group.state = "PreparingRebalance"
                                                                                                                                THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                                                                          /\ group' = t.group
                                                                                                                                          /\ holding' = t.holding
                                                                                                                                          /\ appends' = t.appends
                                                                                                                                          /\ serving' = t.serving
                                                                                                                                          /\ active' = t.active
                                                                                                                                          /\ failing' = t.failing
                                                                                                                                          /\ log' = t.log
                                                                                                                                          /\ committed' = t.committed
                                                                                                                                          /\ answers' = t.answers
                                                                                                                                ELSE /\ IF group.state = "CompletingRebalance" /\ group.leader = r.memberId
                                                                                                                                           THEN /\ \E t \in Ends((StoreAssignments(ParkSync(Begin, r.memberId), r.assignments)), 0):
                                                                                                                                                     /\ group' = t.group
                                                                                                                                                     /\ holding' = t.holding
                                                                                                                                                     /\ appends' = t.appends
                                                                                                                                                     /\ serving' = t.serving
                                                                                                                                                     /\ active' = t.active
                                                                                                                                                     /\ failing' = t.failing
                                                                                                                                                     /\ log' = t.log
                                                                                                                                                     /\ committed' = t.committed
                                                                                                                                                     /\ answers' = t.answers
                                                                                                                                           ELSE /\ IF group.state = "CompletingRebalance"
                                                                                                                                                      THEN /\ \E t \in Ends(({HoldRequest(ParkSync(Begin, r.memberId), "SyncGroup", r.memberId)}), 0):
                                                                                                                                                                /\ group' = t.group
                                                                                                                                                                /\ holding' = t.holding
                                                                                                                                                                /\ appends' = t.appends
                                                                                                                                                                /\ serving' = t.serving
                                                                                                                                                                /\ active' = t.active
                                                                                                                                                                /\ failing' = t.failing
                                                                                                                                                                /\ log' = t.log
                                                                                                                                                                /\ committed' = t.committed
                                                                                                                                                                /\ answers' = t.answers
                                                                                                                                                      ELSE /\ \E t \in Ends(({Answer(Synced(Begin, r.memberId),
                                                                                                                                                                                     [SyncAnswer(Parked("SyncGroup", r.memberId), "NONE") EXCEPT
                                                                                                                                                                                        !.protocolType = group.protocolType, !.protocolName = group.protocolName,
                                                                                                                                                                                        !.assignment = group.members[r.memberId].assignment])}), 0):
                                                                                                                                                                /\ group' = t.group
                                                                                                                                                                /\ holding' = t.holding
                                                                                                                                                                /\ appends' = t.appends
                                                                                                                                                                /\ serving' = t.serving
                                                                                                                                                                /\ active' = t.active
                                                                                                                                                                /\ failing' = t.failing
                                                                                                                                                                /\ log' = t.log
                                                                                                                                                                /\ committed' = t.committed
                                                                                                                                                                /\ answers' = t.answers

Heartbeat == \E r \in HeartbeatRequests(group):
               IF NoId(r)
                  THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "INVALID_GROUP_ID")))}), 0):
                            /\ group' = t.group
                            /\ holding' = t.holding
                            /\ appends' = t.appends
                            /\ serving' = t.serving
                            /\ active' = t.active
                            /\ failing' = t.failing
                            /\ log' = t.log
                            /\ committed' = t.committed
                            /\ answers' = t.answers
                  ELSE /\ IF Gate("NONE") # ""
                             THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, Gate("NONE"))))}), 0):
                                       /\ group' = t.group
                                       /\ holding' = t.holding
                                       /\ appends' = t.appends
                                       /\ serving' = t.serving
                                       /\ active' = t.active
                                       /\ failing' = t.failing
                                       /\ log' = t.log
                                       /\ committed' = t.committed
                                       /\ answers' = t.answers
                             ELSE /\ IF Gone(group) \/ r.groupId = ""
                                        THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                  /\ group' = t.group
                                                  /\ holding' = t.holding
                                                  /\ appends' = t.appends
                                                  /\ serving' = t.serving
                                                  /\ active' = t.active
                                                  /\ failing' = t.failing
                                                  /\ log' = t.log
                                                  /\ committed' = t.committed
                                                  /\ answers' = t.answers
                                        ELSE /\ IF Unregistered(group, r)
                                                   THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                             /\ group' = t.group
                                                             /\ holding' = t.holding
                                                             /\ appends' = t.appends
                                                             /\ serving' = t.serving
                                                             /\ active' = t.active
                                                             /\ failing' = t.failing
                                                             /\ log' = t.log
                                                             /\ committed' = t.committed
                                                             /\ answers' = t.answers
                                                   ELSE /\ IF Fenced(group, r)
                                                              THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "FENCED_INSTANCE_ID")))}), 0):
                                                                        /\ group' = t.group
                                                                        /\ holding' = t.holding
                                                                        /\ appends' = t.appends
                                                                        /\ serving' = t.serving
                                                                        /\ active' = t.active
                                                                        /\ failing' = t.failing
                                                                        /\ log' = t.log
                                                                        /\ committed' = t.committed
                                                                        /\ answers' = t.answers
                                                              ELSE /\ IF ~AliveInPreparing /\ group.state # "Stable"
                                                                         THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                   /\ group' = t.group
                                                                                   /\ holding' = t.holding
                                                                                   /\ appends' = t.appends
                                                                                   /\ serving' = t.serving
                                                                                   /\ active' = t.active
                                                                                   /\ failing' = t.failing
                                                                                   /\ log' = t.log
                                                                                   /\ committed' = t.committed
                                                                                   /\ answers' = t.answers
                                                                         ELSE /\ IF r.memberId \notin DOMAIN group.members
                                                                                    THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                                              /\ group' = t.group
                                                                                              /\ holding' = t.holding
                                                                                              /\ appends' = t.appends
                                                                                              /\ serving' = t.serving
                                                                                              /\ active' = t.active
                                                                                              /\ failing' = t.failing
                                                                                              /\ log' = t.log
                                                                                              /\ committed' = t.committed
                                                                                              /\ answers' = t.answers
                                                                                    ELSE /\ IF group.state = "CompletingRebalance" /\ ~AliveInCompleting
                                                                                               THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                                         /\ group' = t.group
                                                                                                         /\ holding' = t.holding
                                                                                                         /\ appends' = t.appends
                                                                                                         /\ serving' = t.serving
                                                                                                         /\ active' = t.active
                                                                                                         /\ failing' = t.failing
                                                                                                         /\ log' = t.log
                                                                                                         /\ committed' = t.committed
                                                                                                         /\ answers' = t.answers
                                                                                               ELSE /\ IF r.generation # group.generation
                                                                                                          THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "ILLEGAL_GENERATION")))}), 0):
                                                                                                                    /\ group' = t.group
                                                                                                                    /\ holding' = t.holding
                                                                                                                    /\ appends' = t.appends
                                                                                                                    /\ serving' = t.serving
                                                                                                                    /\ active' = t.active
                                                                                                                    /\ failing' = t.failing
                                                                                                                    /\ log' = t.log
                                                                                                                    /\ committed' = t.committed
                                                                                                                    /\ answers' = t.answers
                                                                                                          ELSE /\ IF group.state = "PreparingRebalance"
                                                                                                                     THEN /\ \E t \in Ends(({Later(Rearmed(Begin, r.memberId), "Heartbeat",
                                                                                                                                                   ErrorAnswer(This, "REBALANCE_IN_PROGRESS"))}), 0):
                                                                                                                               /\ group' = t.group
                                                                                                                               /\ holding' = t.holding
                                                                                                                               /\ appends' = t.appends
                                                                                                                               /\ serving' = t.serving
                                                                                                                               /\ active' = t.active
                                                                                                                               /\ failing' = t.failing
                                                                                                                               /\ log' = t.log
                                                                                                                               /\ committed' = t.committed
                                                                                                                               /\ answers' = t.answers
                                                                                                                     ELSE /\ \E t \in Ends(({Later(Rearmed(Begin, r.memberId), "Heartbeat", ErrorAnswer(This, "NONE"))}), 0):
                                                                                                                               /\ group' = t.group
                                                                                                                               /\ holding' = t.holding
                                                                                                                               /\ appends' = t.appends
                                                                                                                               /\ serving' = t.serving
                                                                                                                               /\ active' = t.active
                                                                                                                               /\ failing' = t.failing
                                                                                                                               /\ log' = t.log
                                                                                                                               /\ committed' = t.committed
                                                                                                                               /\ answers' = t.answers

LeaveGroup == \E r \in LeaveGroupRequests(group):
                IF NoId(r)
                   THEN /\ \E t \in Ends(({Answer(Begin, (LeaveAnswer(r, "INVALID_GROUP_ID", "")))}), 0):
                             /\ group' = t.group
                             /\ holding' = t.holding
                             /\ appends' = t.appends
                             /\ serving' = t.serving
                             /\ active' = t.active
                             /\ failing' = t.failing
                             /\ log' = t.log
                             /\ committed' = t.committed
                             /\ answers' = t.answers
                   ELSE /\ IF Refused # ""
                              THEN /\ \E t \in Ends(({Answer(Begin, (LeaveAnswer(r, Refused, "")))}), 0):
                                        /\ group' = t.group
                                        /\ holding' = t.holding
                                        /\ appends' = t.appends
                                        /\ serving' = t.serving
                                        /\ active' = t.active
                                        /\ failing' = t.failing
                                        /\ log' = t.log
                                        /\ committed' = t.committed
                                        /\ answers' = t.answers
                              ELSE /\ IF Gone(group) \/ r.groupId = ""
                                         THEN /\ \E t \in Ends(({Answer(Begin, (LeaveAnswer(r, "NONE", "UNKNOWN_MEMBER_ID")))}), 0):
                                                   /\ group' = t.group
                                                   /\ holding' = t.holding
                                                   /\ appends' = t.appends
                                                   /\ serving' = t.serving
                                                   /\ active' = t.active
                                                   /\ failing' = t.failing
                                                   /\ log' = t.log
                                                   /\ committed' = t.committed
                                                   /\ answers' = t.answers
                                         ELSE /\ \E t \in Ends((LeaveFrom(Begin, r.members, <<>>, 1)), 0):
                                                   /\ group' = t.group
                                                   /\ holding' = t.holding
                                                   /\ appends' = t.appends
                                                   /\ serving' = t.serving
                                                   /\ active' = t.active
                                                   /\ failing' = t.failing
                                                   /\ log' = t.log
                                                   /\ committed' = t.committed
                                                   /\ answers' = t.answers

OffsetCommit == \E r \in OffsetCommitRequests(group):
                  IF r.nothing
                     THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "NONE")))}), 0):
                               /\ group' = t.group
                               /\ holding' = t.holding
                               /\ appends' = t.appends
                               /\ serving' = t.serving
                               /\ active' = t.active
                               /\ failing' = t.failing
                               /\ log' = t.log
                               /\ committed' = t.committed
                               /\ answers' = t.answers
                     ELSE /\ IF Refused # ""
                                THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, Refused)))}), 0):
                                          /\ group' = t.group
                                          /\ holding' = t.holding
                                          /\ appends' = t.appends
                                          /\ serving' = t.serving
                                          /\ active' = t.active
                                          /\ failing' = t.failing
                                          /\ log' = t.log
                                          /\ committed' = t.committed
                                          /\ answers' = t.answers
                                ELSE /\ IF Gone(group) /\ r.generation < 0
                                           THEN /\ \E t \in Ends((StoreOffsets(OffsetsOnly(Begin), r)), 0):
                                                     /\ group' = t.group
                                                     /\ holding' = t.holding
                                                     /\ appends' = t.appends
                                                     /\ serving' = t.serving
                                                     /\ active' = t.active
                                                     /\ failing' = t.failing
                                                     /\ log' = t.log
                                                     /\ committed' = t.committed
                                                     /\ answers' = t.answers
                                           ELSE /\ IF Gone(group)
                                                      THEN /\ \E t \in Ends(({Answer(Begin, (    ErrorAnswer(This,
                                                                       IF SaysNotFound THEN "GROUP_ID_NOT_FOUND" ELSE "ILLEGAL_GENERATION")))}), 0):
                                                                /\ group' = t.group
                                                                /\ holding' = t.holding
                                                                /\ appends' = t.appends
                                                                /\ serving' = t.serving
                                                                /\ active' = t.active
                                                                /\ failing' = t.failing
                                                                /\ log' = t.log
                                                                /\ committed' = t.committed
                                                                /\ answers' = t.answers
                                                      ELSE /\ IF Fenced(group, r)
                                                                 THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "FENCED_INSTANCE_ID")))}), 0):
                                                                           /\ group' = t.group
                                                                           /\ holding' = t.holding
                                                                           /\ appends' = t.appends
                                                                           /\ serving' = t.serving
                                                                           /\ active' = t.active
                                                                           /\ failing' = t.failing
                                                                           /\ log' = t.log
                                                                           /\ committed' = t.committed
                                                                           /\ answers' = t.answers
                                                                 ELSE /\ IF group.state = "Empty" /\ r.generation < 0
                                                                            THEN /\ \E t \in Ends((StoreOffsets(Begin, r)), 0):
                                                                                      /\ group' = t.group
                                                                                      /\ holding' = t.holding
                                                                                      /\ appends' = t.appends
                                                                                      /\ serving' = t.serving
                                                                                      /\ active' = t.active
                                                                                      /\ failing' = t.failing
                                                                                      /\ log' = t.log
                                                                                      /\ committed' = t.committed
                                                                                      /\ answers' = t.answers
                                                                            ELSE /\ IF Unregistered(group, r)
                                                                                       THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                                                 /\ group' = t.group
                                                                                                 /\ holding' = t.holding
                                                                                                 /\ appends' = t.appends
                                                                                                 /\ serving' = t.serving
                                                                                                 /\ active' = t.active
                                                                                                 /\ failing' = t.failing
                                                                                                 /\ log' = t.log
                                                                                                 /\ committed' = t.committed
                                                                                                 /\ answers' = t.answers
                                                                                       ELSE /\ IF CompletingFirst /\ group.state = "CompletingRebalance"
                                                                                                  THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                                            /\ group' = t.group
                                                                                                            /\ holding' = t.holding
                                                                                                            /\ appends' = t.appends
                                                                                                            /\ serving' = t.serving
                                                                                                            /\ active' = t.active
                                                                                                            /\ failing' = t.failing
                                                                                                            /\ log' = t.log
                                                                                                            /\ committed' = t.committed
                                                                                                            /\ answers' = t.answers
                                                                                                  ELSE /\ IF r.memberId \notin DOMAIN group.members
                                                                                                             THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                                                                       /\ group' = t.group
                                                                                                                       /\ holding' = t.holding
                                                                                                                       /\ appends' = t.appends
                                                                                                                       /\ serving' = t.serving
                                                                                                                       /\ active' = t.active
                                                                                                                       /\ failing' = t.failing
                                                                                                                       /\ log' = t.log
                                                                                                                       /\ committed' = t.committed
                                                                                                                       /\ answers' = t.answers
                                                                                                             ELSE /\ IF r.generation # group.generation
                                                                                                                        THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "ILLEGAL_GENERATION")))}), 0):
                                                                                                                                  /\ group' = t.group
                                                                                                                                  /\ holding' = t.holding
                                                                                                                                  /\ appends' = t.appends
                                                                                                                                  /\ serving' = t.serving
                                                                                                                                  /\ active' = t.active
                                                                                                                                  /\ failing' = t.failing
                                                                                                                                  /\ log' = t.log
                                                                                                                                  /\ committed' = t.committed
                                                                                                                                  /\ answers' = t.answers
                                                                                                                        ELSE /\ IF group.state = "CompletingRebalance"
                                                                                                                                   THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                                                                             /\ group' = t.group
                                                                                                                                             /\ holding' = t.holding
                                                                                                                                             /\ appends' = t.appends
                                                                                                                                             /\ serving' = t.serving
                                                                                                                                             /\ active' = t.active
                                                                                                                                             /\ failing' = t.failing
                                                                                                                                             /\ log' = t.log
                                                                                                                                             /\ committed' = t.committed
                                                                                                                                             /\ answers' = t.answers
                                                                                                                                   ELSE /\ \E t \in Ends((StoreOffsets(Rearmed(Begin, r.memberId), r)), 0):
                                                                                                                                             /\ group' = t.group
                                                                                                                                             /\ holding' = t.holding
                                                                                                                                             /\ appends' = t.appends
                                                                                                                                             /\ serving' = t.serving
                                                                                                                                             /\ active' = t.active
                                                                                                                                             /\ failing' = t.failing
                                                                                                                                             /\ log' = t.log
                                                                                                                                             /\ committed' = t.committed
                                                                                                                                             /\ answers' = t.answers

OffsetFetch == \E r \in OffsetFetchRequests(group):
                 IF Refused # ""
                    THEN /\ \E t \in Ends(({Answer(Begin, ([to |-> This, error |-> Refused, offset |-> -1]))}), 0):
                              /\ group' = t.group
                              /\ holding' = t.holding
                              /\ appends' = t.appends
                              /\ serving' = t.serving
                              /\ active' = t.active
                              /\ failing' = t.failing
                              /\ log' = t.log
                              /\ committed' = t.committed
                              /\ answers' = t.answers
                    ELSE /\ \E t \in Ends((Fetched(Begin, r)), 0):
                              /\ group' = t.group
                              /\ holding' = t.holding
                              /\ appends' = t.appends
                              /\ serving' = t.serving
                              /\ active' = t.active
                              /\ failing' = t.failing
                              /\ log' = t.log
                              /\ committed' = t.committed
                              /\ answers' = t.answers

DescribeGroups == IF Refused # ""
                     THEN /\ \E t \in Ends(({Answer(Begin, (NotDescribed(Refused)))}), 0):
                               /\ group' = t.group
                               /\ holding' = t.holding
                               /\ appends' = t.appends
                               /\ serving' = t.serving
                               /\ active' = t.active
                               /\ failing' = t.failing
                               /\ log' = t.log
                               /\ committed' = t.committed
                               /\ answers' = t.answers
                     ELSE /\ \E t \in Ends((Read(Begin, Described)), 0):
                               /\ group' = t.group
                               /\ holding' = t.holding
                               /\ appends' = t.appends
                               /\ serving' = t.serving
                               /\ active' = t.active
                               /\ failing' = t.failing
                               /\ log' = t.log
                               /\ committed' = t.committed
                               /\ answers' = t.answers

TxnOffsetCommit == \E r \in TxnOffsetCommitRequests(group):
                     LET s == Commenced(Begin) IN
                       IF r.nothing
                          THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "NONE")))}), 0):
                                    /\ group' = t.group
                                    /\ holding' = t.holding
                                    /\ appends' = t.appends
                                    /\ serving' = t.serving
                                    /\ active' = t.active
                                    /\ failing' = t.failing
                                    /\ log' = t.log
                                    /\ committed' = t.committed
                                    /\ answers' = t.answers
                          ELSE /\ IF NoId(r)
                                     THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "INVALID_GROUP_ID")))}), 0):
                                               /\ group' = t.group
                                               /\ holding' = t.holding
                                               /\ appends' = t.appends
                                               /\ serving' = t.serving
                                               /\ active' = t.active
                                               /\ failing' = t.failing
                                               /\ log' = t.log
                                               /\ committed' = t.committed
                                               /\ answers' = t.answers
                                     ELSE /\ IF Refused # ""
                                                THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, Refused)))}), 0):
                                                          /\ group' = t.group
                                                          /\ holding' = t.holding
                                                          /\ appends' = t.appends
                                                          /\ serving' = t.serving
                                                          /\ active' = t.active
                                                          /\ failing' = t.failing
                                                          /\ log' = t.log
                                                          /\ committed' = t.committed
                                                          /\ answers' = t.answers
                                                ELSE /\ IF TxnAsMembers /\ Gone(group) /\ r.generation >= 0
                                                           THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "ILLEGAL_GENERATION")))}), 0):
                                                                     /\ group' = t.group
                                                                     /\ holding' = t.holding
                                                                     /\ appends' = t.appends
                                                                     /\ serving' = t.serving
                                                                     /\ active' = t.active
                                                                     /\ failing' = t.failing
                                                                     /\ log' = t.log
                                                                     /\ committed' = t.committed
                                                                     /\ answers' = t.answers
                                                           ELSE /\ IF TxnAsMembers /\ s.group.state = "Empty" /\ r.generation < 0
                                                                      THEN /\ \E t \in Ends((StoreTransaction(s, r)), 0):
                                                                                /\ group' = t.group
                                                                                /\ holding' = t.holding
                                                                                /\ appends' = t.appends
                                                                                /\ serving' = t.serving
                                                                                /\ active' = t.active
                                                                                /\ failing' = t.failing
                                                                                /\ log' = t.log
                                                                                /\ committed' = t.committed
                                                                                /\ answers' = t.answers
                                                                      ELSE /\ IF Unregistered(s.group, r)
                                                                                 THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                                           /\ group' = t.group
                                                                                           /\ holding' = t.holding
                                                                                           /\ appends' = t.appends
                                                                                           /\ serving' = t.serving
                                                                                           /\ active' = t.active
                                                                                           /\ failing' = t.failing
                                                                                           /\ log' = t.log
                                                                                           /\ committed' = t.committed
                                                                                           /\ answers' = t.answers
                                                                                 ELSE /\ IF Fenced(s.group, r)
                                                                                            THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "FENCED_INSTANCE_ID")))}), 0):
                                                                                                      /\ group' = t.group
                                                                                                      /\ holding' = t.holding
                                                                                                      /\ appends' = t.appends
                                                                                                      /\ serving' = t.serving
                                                                                                      /\ active' = t.active
                                                                                                      /\ failing' = t.failing
                                                                                                      /\ log' = t.log
                                                                                                      /\ committed' = t.committed
                                                                                                      /\ answers' = t.answers
                                                                                            ELSE /\ IF NamesMember(r) /\ r.memberId \notin DOMAIN s.group.members
                                                                                                       THEN /\ \E t \in Ends(({Answer(s, ErrorAnswer(This, "UNKNOWN_MEMBER_ID"))}), 0):
                                                                                                                 /\ group' = t.group
                                                                                                                 /\ holding' = t.holding
                                                                                                                 /\ appends' = t.appends
                                                                                                                 /\ serving' = t.serving
                                                                                                                 /\ active' = t.active
                                                                                                                 /\ failing' = t.failing
                                                                                                                 /\ log' = t.log
                                                                                                                 /\ committed' = t.committed
                                                                                                                 /\ answers' = t.answers
                                                                                                       ELSE /\ IF NamesGeneration(r) /\ r.generation # s.group.generation
                                                                                                                  THEN /\ \E t \in Ends(({Answer(s, ErrorAnswer(This, "ILLEGAL_GENERATION"))}), 0):
                                                                                                                            /\ group' = t.group
                                                                                                                            /\ holding' = t.holding
                                                                                                                            /\ appends' = t.appends
                                                                                                                            /\ serving' = t.serving
                                                                                                                            /\ active' = t.active
                                                                                                                            /\ failing' = t.failing
                                                                                                                            /\ log' = t.log
                                                                                                                            /\ committed' = t.committed
                                                                                                                            /\ answers' = t.answers
                                                                                                                  ELSE /\ \E t \in Ends((StoreTransaction(s, r)), 0):
                                                                                                                            /\ group' = t.group
                                                                                                                            /\ holding' = t.holding
                                                                                                                            /\ appends' = t.appends
                                                                                                                            /\ serving' = t.serving
                                                                                                                            /\ active' = t.active
                                                                                                                            /\ failing' = t.failing
                                                                                                                            /\ log' = t.log
                                                                                                                            /\ committed' = t.committed
                                                                                                                            /\ answers' = t.answers

EndTxn == \E r \in EndTxnRequests(Begin):
            IF NoId(r)
               THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "INVALID_GROUP_ID")))}), 0):
                         /\ group' = t.group
                         /\ holding' = t.holding
                         /\ appends' = t.appends
                         /\ serving' = t.serving
                         /\ active' = t.active
                         /\ failing' = t.failing
                         /\ log' = t.log
                         /\ committed' = t.committed
                         /\ answers' = t.answers
               ELSE /\ IF WritesMarkers /\ Refused # ""
                          THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "NOT_LEADER_OR_FOLLOWER")))}), 0):
                                    /\ group' = t.group
                                    /\ holding' = t.holding
                                    /\ appends' = t.appends
                                    /\ serving' = t.serving
                                    /\ active' = t.active
                                    /\ failing' = t.failing
                                    /\ log' = t.log
                                    /\ committed' = t.committed
                                    /\ answers' = t.answers
                          ELSE /\ IF WritesMarkers /\ failing # Fine
                                     THEN /\ \E t \in Ends((NotMarked(Begin)), 0):
                                               /\ group' = t.group
                                               /\ holding' = t.holding
                                               /\ appends' = t.appends
                                               /\ serving' = t.serving
                                               /\ active' = t.active
                                               /\ failing' = t.failing
                                               /\ log' = t.log
                                               /\ committed' = t.committed
                                               /\ answers' = t.answers
                                     ELSE /\ IF ~active
                                                THEN /\ \E t \in Ends(({Answer(Marked(Begin, r.committed),
                                                                               ErrorAnswer(This, "UNKNOWN_SERVER_ERROR"))}), 0):
                                                          /\ group' = t.group
                                                          /\ holding' = t.holding
                                                          /\ appends' = t.appends
                                                          /\ serving' = t.serving
                                                          /\ active' = t.active
                                                          /\ failing' = t.failing
                                                          /\ log' = t.log
                                                          /\ committed' = t.committed
                                                          /\ answers' = t.answers
                                                ELSE /\ IF Gone(group) \/ ~group.awaited
                                                           THEN /\ \E t \in Ends(({Later(Marked(Begin, r.committed), "EndTxn", ErrorAnswer(This, "NONE"))}), 0):
                                                                     /\ group' = t.group
                                                                     /\ holding' = t.holding
                                                                     /\ appends' = t.appends
                                                                     /\ serving' = t.serving
                                                                     /\ active' = t.active
                                                                     /\ failing' = t.failing
                                                                     /\ log' = t.log
                                                                     /\ committed' = t.committed
                                                                     /\ answers' = t.answers
                                                           ELSE /\ \E t \in Ends(({Later(Ended(Marked(Begin, r.committed), r.committed), "EndTxn",
                                                                                         ErrorAnswer(This, "NONE"))}), 0):
                                                                     /\ group' = t.group
                                                                     /\ holding' = t.holding
                                                                     /\ appends' = t.appends
                                                                     /\ serving' = t.serving
                                                                     /\ active' = t.active
                                                                     /\ failing' = t.failing
                                                                     /\ log' = t.log
                                                                     /\ committed' = t.committed
                                                                     /\ answers' = t.answers

ListGroups == \E r \in ListGroupsRequests:
                IF ~active
                   THEN /\ \E t \in Ends(({Answer(Begin, ([to |-> This, error |-> Refused, groups |-> {}]))}), 0):
                             /\ group' = t.group
                             /\ holding' = t.holding
                             /\ appends' = t.appends
                             /\ serving' = t.serving
                             /\ active' = t.active
                             /\ failing' = t.failing
                             /\ log' = t.log
                             /\ committed' = t.committed
                             /\ answers' = t.answers
                   ELSE /\ IF serving = "loading"
                              THEN /\ \E t \in Ends(({Answer(Begin, ([to |-> This, error |-> "COORDINATOR_LOAD_IN_PROGRESS", groups |-> {}]))}), 0):
                                        /\ group' = t.group
                                        /\ holding' = t.holding
                                        /\ appends' = t.appends
                                        /\ serving' = t.serving
                                        /\ active' = t.active
                                        /\ failing' = t.failing
                                        /\ log' = t.log
                                        /\ committed' = t.committed
                                        /\ answers' = t.answers
                              ELSE /\ \E t \in Ends((ReadList(Begin, r)), 0):
                                        /\ group' = t.group
                                        /\ holding' = t.holding
                                        /\ appends' = t.appends
                                        /\ serving' = t.serving
                                        /\ active' = t.active
                                        /\ failing' = t.failing
                                        /\ log' = t.log
                                        /\ committed' = t.committed
                                        /\ answers' = t.answers

DeleteGroups == /\ Administered /\ DeletesGroups
                /\ IF Refused # ""
                      THEN /\ \E t \in Ends(({Answer(Begin, (DeleteAnswer("NONE", {Refused})))}), 0):
                                /\ group' = t.group
                                /\ holding' = t.holding
                                /\ appends' = t.appends
                                /\ serving' = t.serving
                                /\ active' = t.active
                                /\ failing' = t.failing
                                /\ log' = t.log
                                /\ committed' = t.committed
                                /\ answers' = t.answers
                      ELSE /\ IF Gone(group)
                                 THEN /\ \E t \in Ends(({Later(Begin, "DeleteGroups", DeleteAnswer("NONE", {"GROUP_ID_NOT_FOUND"}))}), 0):
                                           /\ group' = t.group
                                           /\ holding' = t.holding
                                           /\ appends' = t.appends
                                           /\ serving' = t.serving
                                           /\ active' = t.active
                                           /\ failing' = t.failing
                                           /\ log' = t.log
                                           /\ committed' = t.committed
                                           /\ answers' = t.answers
                                 ELSE /\ IF group.state # "Empty"
                                            THEN /\ \E t \in Ends(({Later(Begin, "DeleteGroups", DeleteAnswer("NONE", {"NON_EMPTY_GROUP"}))}), 0):
                                                      /\ group' = t.group
                                                      /\ holding' = t.holding
                                                      /\ appends' = t.appends
                                                      /\ serving' = t.serving
                                                      /\ active' = t.active
                                                      /\ failing' = t.failing
                                                      /\ log' = t.log
                                                      /\ committed' = t.committed
                                                      /\ answers' = t.answers
                                            ELSE /\ IF RemovalFails(Begin, TRUE)
                                                       THEN /\ \E t \in Ends(({Answer(t, DeleteAnswer("NONE", {CommitError(failing)})) : t \in NotRemoved(Begin)}), 0):
                                                                 /\ group' = t.group
                                                                 /\ holding' = t.holding
                                                                 /\ appends' = t.appends
                                                                 /\ serving' = t.serving
                                                                 /\ active' = t.active
                                                                 /\ failing' = t.failing
                                                                 /\ log' = t.log
                                                                 /\ committed' = t.committed
                                                                 /\ answers' = t.answers
                                                       ELSE /\ \E t \in Ends(({Later(Deleted(Removed(Begin, HasOffset(group), TRUE)), "DeleteGroups",
                                                                                     DeleteAnswer("NONE", {"NONE"}))}), 0):
                                                                 /\ group' = t.group
                                                                 /\ holding' = t.holding
                                                                 /\ appends' = t.appends
                                                                 /\ serving' = t.serving
                                                                 /\ active' = t.active
                                                                 /\ failing' = t.failing
                                                                 /\ log' = t.log
                                                                 /\ committed' = t.committed
                                                                 /\ answers' = t.answers

OffsetDelete == \E r \in OffsetDeleteRequests(group):
                  IF NoId(r)
                     THEN /\ \E t \in Ends(({Answer(Begin, (OffsetDeleteAnswer("INVALID_GROUP_ID", {})))}), 0):
                               /\ group' = t.group
                               /\ holding' = t.holding
                               /\ appends' = t.appends
                               /\ serving' = t.serving
                               /\ active' = t.active
                               /\ failing' = t.failing
                               /\ log' = t.log
                               /\ committed' = t.committed
                               /\ answers' = t.answers
                     ELSE /\ IF Refused # ""
                                THEN /\ \E t \in Ends(({Answer(Begin, (OffsetDeleteAnswer(Refused, {})))}), 0):
                                          /\ group' = t.group
                                          /\ holding' = t.holding
                                          /\ appends' = t.appends
                                          /\ serving' = t.serving
                                          /\ active' = t.active
                                          /\ failing' = t.failing
                                          /\ log' = t.log
                                          /\ committed' = t.committed
                                          /\ answers' = t.answers
                                ELSE /\ IF Gone(group)
                                           THEN /\ \E t \in Ends(({Answer(Begin, (OffsetDeleteAnswer("GROUP_ID_NOT_FOUND", {})))}), 0):
                                                     /\ group' = t.group
                                                     /\ holding' = t.holding
                                                     /\ appends' = t.appends
                                                     /\ serving' = t.serving
                                                     /\ active' = t.active
                                                     /\ failing' = t.failing
                                                     /\ log' = t.log
                                                     /\ committed' = t.committed
                                                     /\ answers' = t.answers
                                           ELSE /\ IF group.state = "Empty"
                                                      THEN /\ \E t \in Ends((OffsetDeleted(Begin, r.topic)), 0):
                                                                /\ group' = t.group
                                                                /\ holding' = t.holding
                                                                /\ appends' = t.appends
                                                                /\ serving' = t.serving
                                                                /\ active' = t.active
                                                                /\ failing' = t.failing
                                                                /\ log' = t.log
                                                                /\ committed' = t.committed
                                                                /\ answers' = t.answers
                                                      ELSE /\ IF group.protocolType = "consumer" /\ r.topic \in group.subscribed
                                                                 THEN /\ \E t \in Ends(({Later(Begin, "OffsetDelete",
                                                                                               OffsetDeleteAnswer("NONE", {<<r.topic, "GROUP_SUBSCRIBED_TO_TOPIC">>}))}), 0):
                                                                           /\ group' = t.group
                                                                           /\ holding' = t.holding
                                                                           /\ appends' = t.appends
                                                                           /\ serving' = t.serving
                                                                           /\ active' = t.active
                                                                           /\ failing' = t.failing
                                                                           /\ log' = t.log
                                                                           /\ committed' = t.committed
                                                                           /\ answers' = t.answers
                                                                 ELSE /\ IF group.protocolType = "consumer"
                                                                            THEN /\ \E t \in Ends((OffsetDeleted(Begin, r.topic)), 0):
                                                                                      /\ group' = t.group
                                                                                      /\ holding' = t.holding
                                                                                      /\ appends' = t.appends
                                                                                      /\ serving' = t.serving
                                                                                      /\ active' = t.active
                                                                                      /\ failing' = t.failing
                                                                                      /\ log' = t.log
                                                                                      /\ committed' = t.committed
                                                                                      /\ answers' = t.answers
                                                                            ELSE /\ \E t \in Ends(({Answer(Begin, (OffsetDeleteAnswer("NON_EMPTY_GROUP", {})))}), 0):
                                                                                      /\ group' = t.group
                                                                                      /\ holding' = t.holding
                                                                                      /\ appends' = t.appends
                                                                                      /\ serving' = t.serving
                                                                                      /\ active' = t.active
                                                                                      /\ failing' = t.failing
                                                                                      /\ log' = t.log
                                                                                      /\ committed' = t.committed
                                                                                      /\ answers' = t.answers

Advance == IF Timed
              THEN /\ \E t \in Ends(({Begin}), 1):
                        /\ group' = t.group
                        /\ holding' = t.holding
                        /\ appends' = t.appends
                        /\ serving' = t.serving
                        /\ active' = t.active
                        /\ failing' = t.failing
                        /\ log' = t.log
                        /\ committed' = t.committed
                        /\ answers' = t.answers
              ELSE /\ group # NoGroup /\ group.joinTimer.initial
                   /\ \E t \in Ends(({Begin}), (group.joinTimer.left)):
                        /\ group' = t.group
                        /\ holding' = t.holding
                        /\ appends' = t.appends
                        /\ serving' = t.serving
                        /\ active' = t.active
                        /\ failing' = t.failing
                        /\ log' = t.log
                        /\ committed' = t.committed
                        /\ answers' = t.answers

Cleanup == /\ Expires
           /\ \E t \in Ends((Cleaned(Begin)), 0):
                /\ group' = t.group
                /\ holding' = t.holding
                /\ appends' = t.appends
                /\ serving' = t.serving
                /\ active' = t.active
                /\ failing' = t.failing
                /\ log' = t.log
                /\ committed' = t.committed
                /\ answers' = t.answers

HoldAppends == /\ MaxHeld > 0 /\ ~holding
               /\ \E t \in Ends(({[Begin EXCEPT !.holding = TRUE]}), 0):
                    /\ group' = t.group
                    /\ holding' = t.holding
                    /\ appends' = t.appends
                    /\ serving' = t.serving
                    /\ active' = t.active
                    /\ failing' = t.failing
                    /\ log' = t.log
                    /\ committed' = t.committed
                    /\ answers' = t.answers

ReleaseAppends == /\ holding
                  /\ \E t \in Ends((Released(Begin)), 0):
                       /\ group' = t.group
                       /\ holding' = t.holding
                       /\ appends' = t.appends
                       /\ serving' = t.serving
                       /\ active' = t.active
                       /\ failing' = t.failing
                       /\ log' = t.log
                       /\ committed' = t.committed
                       /\ answers' = t.answers

FailAppends == /\ Fails /\ failing = Fine
               /\ \E error \in {"NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT"}:
                    \E t \in Ends(({[Begin EXCEPT !.failing = error]}), 0):
                      /\ group' = t.group
                      /\ holding' = t.holding
                      /\ appends' = t.appends
                      /\ serving' = t.serving
                      /\ active' = t.active
                      /\ failing' = t.failing
                      /\ log' = t.log
                      /\ committed' = t.committed
                      /\ answers' = t.answers

Crash == /\ Logged
         /\ \E t \in Ends(({Crashed(Begin)}), 0):
              /\ group' = t.group
              /\ holding' = t.holding
              /\ appends' = t.appends
              /\ serving' = t.serving
              /\ active' = t.active
              /\ failing' = t.failing
              /\ log' = t.log
              /\ committed' = t.committed
              /\ answers' = t.answers

Unload == /\ Moves /\ active /\ serving # "unloaded"
          /\ \E t \in Ends(({Unloaded(Begin)}), 0):
               /\ group' = t.group
               /\ holding' = t.holding
               /\ appends' = t.appends
               /\ serving' = t.serving
               /\ active' = t.active
               /\ failing' = t.failing
               /\ log' = t.log
               /\ committed' = t.committed
               /\ answers' = t.answers

Loading == /\ Moves /\ active /\ serving # "loading"
           /\ \E t \in Ends(({[Unloaded(Begin) EXCEPT !.serving = "loading"]}), 0):
                /\ group' = t.group
                /\ holding' = t.holding
                /\ appends' = t.appends
                /\ serving' = t.serving
                /\ active' = t.active
                /\ failing' = t.failing
                /\ log' = t.log
                /\ committed' = t.committed
                /\ answers' = t.answers

Load == /\ Moves /\ active /\ serving # "served"
        /\ \E t \in Ends(({Loaded(Begin)}), 0):
             /\ group' = t.group
             /\ holding' = t.holding
             /\ appends' = t.appends
             /\ serving' = t.serving
             /\ active' = t.active
             /\ failing' = t.failing
             /\ log' = t.log
             /\ committed' = t.committed
             /\ answers' = t.answers

Shutdown == /\ Moves /\ active
            /\ \E t \in Ends(({ShutDown(Begin)}), 0):
                 /\ group' = t.group
                 /\ holding' = t.holding
                 /\ appends' = t.appends
                 /\ serving' = t.serving
                 /\ active' = t.active
                 /\ failing' = t.failing
                 /\ log' = t.log
                 /\ committed' = t.committed
                 /\ answers' = t.answers

Next == JoinGroup \/ SyncGroup \/ Heartbeat \/ LeaveGroup \/ OffsetCommit
           \/ OffsetFetch \/ DescribeGroups \/ TxnOffsetCommit \/ EndTxn
           \/ ListGroups \/ DeleteGroups \/ OffsetDelete \/ Advance \/ Cleanup
           \/ HoldAppends \/ ReleaseAppends \/ FailAppends \/ Crash \/ Unload
           \/ Loading \/ Load \/ Shutdown

Spec == Init /\ [][Next]_vars

\* END TRANSLATION - the hash of the generated TLA code (remove to silence divergence warnings): TLA-f2d89801d506ceaf75a3d0b98a6a9f8c

=============================================================================

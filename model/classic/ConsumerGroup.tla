---------------------------- MODULE ConsumerGroup ----------------------------
(* A consumer group and its coordinator, as in Apache Kafka: the classic       *)
(* protocol, versions 0.10.0, 0.10.2, 2.7 and 4.1. Each process of the         *)
(* algorithm is an API of the coordinator, a fault, or the passing of time.    *)
(* TLC and the Python explorer must find the same states, transitions,         *)
(* responses and rules.                                                        *)
(*                                                                             *)
(* A step is a record of the variables, which operators change one after the   *)
(* other. An operator that returns a set of steps makes a nondeterministic     *)
(* choice: the leader after the leader left, the winner of a tied vote, the    *)
(* order of timers that are due together.                                      *)
(*                                                                             *)
(* Apply(s, "heartbeat/alive") records the id of the rule that a step applies. *)
(* The ids are those of the Python tables. Comments cite Kafka's source, at    *)
(* tag 2.7.2 unless they name another version: GC is GroupCoordinator.scala,   *)
(* GM GroupMetadata.scala, GMM GroupMetadataManager.scala. At branch 4.1 GMM   *)
(* is GroupMetadataManager.java, CG ClassicGroup.java, OMM                     *)
(* OffsetMetadataManager.java, CR CoordinatorRuntime.java, GCS                 *)
(* GroupCoordinatorService.java.                                               *)
EXTENDS Requests, Failover, Cleanup, Canonical, Clients

(*--algorithm ConsumerGroup

variables
  group   = NoGroup,
  holding = FALSE,  \* whether appends to the log are held, and stay incomplete
  appends = <<>>,   \* the held ones
  serving = "served",        \* the partition; or "loading", or "unloaded"
  active  = TRUE,            \* the coordinator is not shut down
  failing = NoError,         \* the error of the next append
  log     = NoLog,           \* empty in an instance that never loads it
  committed = AllCommitted,  \* what requests that only read see
  maxSize = MaxSize,         \* group.max.size of the broker that has the partition
  forgottenJoin = Stopped,   \* of the join timer of a group that a failed append removed
  answers = {},              \* the responses of the last step
  rules   = {};              \* the ids of the rules that the last step applied, if Observed

define
  \* The VIEW of the instances: states that differ in responses and rules are the same.
  State == <<group, holding, appends, serving, active, failing, log, committed,
             maxSize, forgottenJoin>>
  Begin == [group |-> group, holding |-> holding, appends |-> appends, serving |-> serving,
            active |-> active, failing |-> failing, log |-> log, committed |-> committed,
            maxSize |-> maxSize, forgottenJoin |-> forgottenJoin,
            answers |-> {}, rules |-> {}, before |-> group, found |-> group # NoGroup,
            parks |-> NoMember]  \* the member whose JoinGroup this step parks

  \* One of three values, by the reason why the coordinator rejects every request. GC:856
  ByReason(notActive, loading, notCoordinator) ==
    IF ~active THEN notActive                               \* GC:859
    ELSE IF serving = "loading" /\ ~Old THEN loading        \* GC:861
    ELSE notCoordinator                                     \* GC:863
  IsRefused == ~active \/ serving # "served"
  RefusalError(loading) == ByReason("COORDINATOR_NOT_AVAILABLE", loading, "NOT_COORDINATOR")
  Refused == RefusalError("COORDINATOR_LOAD_IN_PROGRESS")
  RefusedSync == IF LoadingRestartsSync THEN RefusalError("REBALANCE_IN_PROGRESS") ELSE Refused
  Applied(rule) == Apply(Begin, rule)
  IsEmptyGroupId(r) == ChecksEveryGroupId /\ r.groupId = "" /\ (active \/ ~ActiveCheckedFirst)
  \* After a shutdown the partition does not move. GMM:933
  Moved(outcomes) == IF active THEN outcomes ELSE {Applied("failover/not-active")}
end define

\* The step ends in one of its outcomes.
macro Finish(steps, ticks) begin
  with t \in Outcomes(steps, ticks) do
    group   := t.group;
    holding := t.holding;
    appends := t.appends;
    serving := t.serving;
    active  := t.active;
    failing := t.failing;
    log     := t.log;
    committed := t.committed;
    maxSize := t.maxSize;
    forgottenJoin := t.forgottenJoin;
    answers := t.answers;
    rules   := t.rules;
  end with;
end macro

\* A step that applies one rule, which only answers.
macro Reply(rule, answer) begin
  Finish({Answer(Apply(Begin, rule), answer)}, 0);
end macro

process JoinGroup = "JoinGroup"
begin join_group:  \* GC:156
  while TRUE do
    with r \in JoinGroupRequests(group, log),
         s = CreatedByJoin(Begin), g = CreatedByJoin(Begin).group do
      if ActiveCheckedFirst /\ ~active then          \* before the id: 0.10.2 GC:101, 4.1 GCS:851
        Reply("join/not-active", Refusal(Refused, r.memberId));
      elsif r.groupId = "" then                                                        \* GC:857
        Reply("join/invalid-group-id", Refusal("INVALID_GROUP_ID", r.memberId));
      elsif IsRefused /\ ~RuntimeChecksLast then                                       \* GC:859
        Reply(ByReason("join/not-active", "join/loading", "join/not-coordinator"),
              Refusal(Refused, r.memberId));
      elsif r.sessionTicks = 0 then                                                    \* GC:172
        Reply("join/session-timeout-out-of-range",
              Refusal("INVALID_SESSION_TIMEOUT", r.memberId));
      elsif IsRefused then                                                   \* 4.1 CR:2207,2209
        Reply(ByReason("", "join/loading", "join/not-coordinator"), Refusal(Refused, NoMember));
      elsif IsDead(group) /\ r.memberId # NoMember then                                \* GC:180
        Reply("join/no-group", Refusal("UNKNOWN_MEMBER_ID", r.memberId));
      elsif IsFull(s, r) then                                                          \* GC:184
        Finish(UNION {EndRejectedJoin(t) : t \in RejectFull(Apply(s, "join/group-full"), r)}, 0);
      elsif r.memberId = NoMember then
        if IsInconsistent(g, r) then                                                   \* GC:220
          Finish(EndRejectedJoin(RejectInconsistent(Apply(s, "join/new-inconsistent"),
                                                    NoMember)), 0);
        elsif StaticMemberId(g, r.instance) # NoMember then
          Finish(EndJoin(RejoinStatic(s, r)), 0);
        elsif r.givesId /\ r.instance = NoInstance then                                \* GC:227
          Finish(RecordNewGroups({GiveId(Apply(s, "join/member-id-required"), n)
                           : n \in FreeNames(g, log)}), 0);
        else                                                                           \* GC:238
          Finish(EndJoin(UNION {AddMember(Apply(s, "join/new-member"), n, r)
                               : n \in FreeNames(g, log)}), 0);
        end if;
      elsif IsInconsistent(g, r) then                                                  \* GC:262
        Finish(EndRejectedJoin(RejectInconsistent(Apply(s, "join/inconsistent"), r.memberId)), 0);
      elsif r.memberId \in DOMAIN g.pending /\ r.instance # NoInstance then            \* GC:267
        Finish(EndRejectedJoin(Answer(Apply(s, "join/pending-static"),
                                JoinAnswer(This, "UNKNOWN_SERVER_ERROR", NoMember))), 0);
      elsif r.memberId \in DOMAIN g.pending then                                       \* GC:264
        Finish(EndJoin(AddMember(Apply(s, "join/pending-member"), r.memberId, r)), 0);
      elsif IsFenced(g, r) then                                                        \* GC:277
        Finish(EndRejectedJoin(Answer(Apply(s, "join/fenced"),
                                Refusal("FENCED_INSTANCE_ID", r.memberId))), 0);
      elsif r.instance # NoInstance /\ StaticMemberId(g, r.instance) = NoMember then   \* GC:280
        Finish(EndRejectedJoin(Answer(Apply(s, "join/unknown-instance"),
                                Refusal("UNKNOWN_MEMBER_ID", r.memberId))), 0);
      elsif r.memberId \notin DOMAIN g.members then                                    \* GC:280
        Finish(EndRejectedJoin(Answer(Apply(s, "join/unknown-member"),
                                Refusal("UNKNOWN_MEMBER_ID", r.memberId))), 0);
      elsif g.state = "PreparingRebalance" then                                        \* GC:289
        Finish(EndJoin(Rejoin(Apply(s, "join/rejoin-preparing"), r)), 0);
      elsif g.state = "CompletingRebalance" /\ IsUnchanged(g, r) then                  \* GC:293
        Reply("join/repeated-completing",
              CurrentGeneration(Parked("JoinGroup", r.memberId), g, r.memberId));
      elsif g.state = "CompletingRebalance" then                                       \* GC:311
        Finish(EndJoin(Rejoin(Apply(s, "join/changed-completing"), r)), 0);
      elsif g.leader = r.memberId then                                                 \* GC:316
        Finish(EndJoin(Rejoin(Apply(s, "join/leader-stable"), r)), 0);
      elsif ~IsUnchanged(g, r) then                                                    \* GC:321
        Finish(EndJoin(Rejoin(Apply(s, "join/changed-stable"), r)), 0);
      else                                                                             \* GC:326
        Reply("join/repeated-stable",
              CurrentGeneration(Parked("JoinGroup", r.memberId), g, r.memberId));
      end if;
    end with;
  end while;
end process

process SyncGroup = "SyncGroup"
begin sync_group:  \* GC:347
  while TRUE do
    with r \in SyncGroupRequests(group) do
      if SyncsByProtocol /\ r.protocolType = Null then                   \* KafkaApis.scala:1585
        Reply("sync/protocol-missing", SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL"));
      elsif IsEmptyGroupId(r) then                                                     \* GC:857
        Reply("sync/invalid-group-id", SyncAnswer(This, "INVALID_GROUP_ID"));
      elsif IsRefused then                                                             \* GC:356
        Reply(ByReason("sync/not-active", "sync/loading", "sync/not-coordinator"),
              SyncAnswer(This, RefusedSync));
      elsif IsDead(group) \/ r.groupId = "" then                                       \* GC:367
        Reply("sync/no-group", SyncAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif EmptyRefusesSync /\ group.state = "Empty" then                       \* 4.1 GMM:7352
        Reply("sync/empty-group", SyncAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif IsUnknownInstance(group, r) then                                       \* 4.1 CG:805
        Reply("sync/unknown-instance", SyncAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif IsFenced(group, r) then                                                    \* GC:389
        Reply("sync/fenced", SyncAnswer(This, "FENCED_INSTANCE_ID"));
      elsif r.memberId \notin DOMAIN group.members then                                \* GC:391
        Reply("sync/unknown-member", SyncAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif r.generation # group.generation then                                       \* GC:393
        Reply("sync/other-generation", SyncAnswer(This, "ILLEGAL_GENERATION"));
      elsif r.protocolType \notin {Null, group.protocolType} then                      \* GC:395
        Reply("sync/other-protocol-type", SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL"));
      elsif /\ r.protocolName \notin {Null, group.protocolName}
            /\ ~(AnyProtocolUntilChosen /\ group.protocolName = Null) then             \* GC:397
        Reply("sync/other-protocol-name", SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL"));
      elsif group.state = "PreparingRebalance" then                                    \* GC:404
        Reply("sync/preparing", SyncAnswer(This, "REBALANCE_IN_PROGRESS"));
      elsif group.state = "CompletingRebalance" /\ group.leader = r.memberId then      \* GC:411
        Finish(StoreAssignments(ParkSync(Applied("sync/leader-completing"), r.memberId),
                                r.assignments), 0);
      elsif group.state = "CompletingRebalance" then                                   \* GC:408
        Finish({HoldRequest(ParkSync(Applied("sync/follower-completing"), r.memberId),
                            "SyncGroup", r.memberId)}, 0);
      else                                                                             \* GC:441
        Finish({Answer(NoteSyncedInStable(Applied("sync/stable"), r.memberId),
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
      if IsEmptyGroupId(r) then                                                        \* GC:857
        Reply("heartbeat/invalid-group-id", ErrorAnswer(This, "INVALID_GROUP_ID"));
      elsif IsRefused then                                                             \* GC:615
        Reply(ByReason("heartbeat/not-active", "heartbeat/loading", "heartbeat/not-coordinator"),
              ErrorAnswer(This, RefusalError("NONE")));
      elsif IsDead(group) \/ r.groupId = "" then                                       \* GC:622
        Reply("heartbeat/no-group", ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif IsUnknownInstance(group, r) then                                       \* 4.1 CG:805
        Reply("heartbeat/unknown-instance", ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif IsFenced(group, r) then                                                    \* GC:632
        Reply("heartbeat/fenced", ErrorAnswer(This, "FENCED_INSTANCE_ID"));
      elsif ~HeartbeatsInPreparing /\ group.state # "Stable" then               \* 0.10.0 GC:363
        Reply("heartbeat/unstable", ErrorAnswer(This, "REBALANCE_IN_PROGRESS"));
      elsif r.memberId \notin DOMAIN group.members then                                \* GC:634
        Reply("heartbeat/unknown-member", ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif group.state = "CompletingRebalance" /\ ~HeartbeatsInCompleting then  \* 0.10.2 GC:367
        Reply("heartbeat/completing", ErrorAnswer(This, "REBALANCE_IN_PROGRESS"));
      elsif r.generation # group.generation then                                       \* GC:636
        Reply("heartbeat/other-generation", ErrorAnswer(This, "ILLEGAL_GENERATION"));
      elsif group.state = "PreparingRebalance" then                                    \* GC:650
        Finish({AnswerWhenCommitted(RestartSession(Applied("heartbeat/preparing"), r.memberId),
                                    "Heartbeat", ErrorAnswer(This, "REBALANCE_IN_PROGRESS"))}, 0);
      else                                                                             \* GC:643
        Finish({AnswerWhenCommitted(RestartSession(Applied("heartbeat/alive"), r.memberId),
                                    "Heartbeat", ErrorAnswer(This, "NONE"))}, 0);
      end if;
    end with;
  end while;
end process

process LeaveGroup = "LeaveGroup"
begin leave_group:  \* GC:454
  while TRUE do
    with r \in LeaveGroupRequests(group) do
      if IsEmptyGroupId(r) then                                                        \* GC:857
        Reply("leave/invalid-group-id", LeaveAnswer(r, "INVALID_GROUP_ID", ""));
      elsif IsRefused then                                                             \* GC:859
        Reply(ByReason("leave/not-active", "leave/loading", "leave/not-coordinator"),
              LeaveAnswer(r, Refused, ""));
      elsif IsDead(group) \/ r.groupId = "" then                                       \* GC:462
        Reply("leave/no-group", LeaveAnswer(r, "NONE", "UNKNOWN_MEMBER_ID"));
      else                                                                             \* GC:471
        Finish(LeaveFrom(Applied(IF LeavesTogether THEN "leave/together" ELSE "leave/batch"),
                         r.members, <<>>, 1), 0);
      end if;
    end with;
  end while;
end process

process OffsetCommit = "OffsetCommit"
begin offset_commit:  \* GC:686
  while TRUE do
    with r \in OffsetCommitRequests(group) do
      if r.noPartitions then                                              \* KafkaApis.scala:434
        Reply("commit/no-partitions", ErrorAnswer(This, "NONE"));
      elsif IsRefused then                                                             \* GC:859
        Reply(ByReason("commit/not-active", "commit/loading", "commit/not-coordinator"),
              ErrorAnswer(This, Refused));
      elsif IsDead(group) /\ r.generation < 0 then                                     \* GC:697
        Finish(StoreOffsets(GroupOfOffsets(Applied("commit/simple-no-group")), r), 0);
      elsif IsDead(group) /\ ReturnsNotFound then                                 \* 4.1 OMM:468
        Reply("commit/not-found", ErrorAnswer(This, "GROUP_ID_NOT_FOUND"));
      elsif IsDead(group) then                                                         \* GC:701
        Reply("commit/no-group", ErrorAnswer(This, "ILLEGAL_GENERATION"));
      elsif IsFenced(group, r) then                                                    \* GC:762
        Reply("commit/fenced", ErrorAnswer(This, "FENCED_INSTANCE_ID"));
      elsif group.state = "Empty" /\ r.generation < 0 then                             \* GC:764
        Finish(StoreOffsets(Applied("commit/simple-empty"), r), 0);
      elsif IsUnknownInstance(group, r) then                                       \* 4.1 CG:805
        Reply("commit/unknown-instance", ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif CompletingCheckedFirst /\ group.state = "CompletingRebalance" then  \* 0.10.2 GC:439
        Reply("commit/completing", ErrorAnswer(This, "REBALANCE_IN_PROGRESS"));
      elsif OnlyMembersCommit /\ r.generation < 0 /\ r.memberId = NoMember then    \* 4.1 CG:853
        Reply("commit/simple-in-use", ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif r.memberId \notin DOMAIN group.members then                                \* GC:767
        Reply("commit/unknown-member", ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif r.generation # group.generation then                                       \* GC:769
        Reply("commit/other-generation", ErrorAnswer(This, "ILLEGAL_GENERATION"));
      elsif group.state = "CompletingRebalance" then                                   \* GC:780
        Reply("commit/completing", ErrorAnswer(This, "REBALANCE_IN_PROGRESS"));
      else                                                                             \* GC:773
        Finish(StoreOffsets(RestartSession(Applied("commit/member"), r.memberId), r), 0);
      end if;
    end with;
  end while;
end process

process OffsetFetch = "OffsetFetch"
begin offset_fetch:  \* GC:794
  while TRUE do
    with r \in OffsetFetchRequests(group) do
      if IsRefused then                                                                \* GC:859
        Reply(ByReason("fetch/not-active", "fetch/loading", "fetch/not-coordinator"),
              [to |-> This, error |-> Refused, offset |-> -1]);
      else
        Finish(Fetched(Begin, r), 0);
      end if;
    end with;
  end while;
end process

process DescribeGroups = "DescribeGroups"
begin describe_groups:  \* GC:820
  while TRUE do
    if IsRefused then                                                                  \* GC:859
      Reply(ByReason("describe/not-active", "describe/loading", "describe/not-coordinator"),
            NotDescribed(Refused));
    else
      Finish(ReadsCommitted(Begin, Described), 0);
    end if;
  end while;
end process

process TxnOffsetCommit = "TxnOffsetCommit"
begin txn_offset_commit:  \* GC:668
  while TRUE do
    with r \in TxnOffsetCommitRequests(group), s = CreatedByCommit(Begin) do
      if r.noPartitions then                                             \* KafkaApis.scala:2393
        Reply("txn-commit/no-partitions", ErrorAnswer(This, "NONE"));
      elsif IsEmptyGroupId(r) then                                                     \* GC:857
        Reply("txn-commit/invalid-group-id", ErrorAnswer(This, "INVALID_GROUP_ID"));
      elsif IsRefused then                                                             \* GC:859
        Reply(ByReason("txn-commit/not-active", "txn-commit/loading", "txn-commit/not-coordinator"),
              ErrorAnswer(This, Refused));
      elsif TxnChecksMembers /\ IsDead(group) /\ r.generation >= 0 then           \* 4.1 OMM:513
        Reply("txn-commit/no-group", ErrorAnswer(This, "ILLEGAL_GENERATION"));
      elsif TxnChecksMembers /\ s.group.state = "Empty" /\ r.generation < 0 then   \* 4.1 CG:840
        Finish(StoreTransaction(Apply(s, "txn-commit/simple"), r), 0);
      elsif IsUnknownInstance(s.group, r) then
        Reply("txn-commit/unknown-instance", ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif IsFenced(s.group, r) then                                                  \* GC:735
        Reply("txn-commit/fenced", ErrorAnswer(This, "FENCED_INSTANCE_ID"));
      elsif NamesMember(r) /\ r.memberId \notin DOMAIN s.group.members then            \* GC:737
        Finish({Answer(Apply(s, "txn-commit/unknown-member"),
                       ErrorAnswer(This, "UNKNOWN_MEMBER_ID"))}, 0);
      elsif NamesGeneration(r) /\ r.generation # s.group.generation then               \* GC:740
        Finish({Answer(Apply(s, "txn-commit/other-generation"),
                       ErrorAnswer(This, "ILLEGAL_GENERATION"))}, 0);
      else                                                                             \* GC:744
        Finish(StoreTransaction(Apply(s, "txn-commit/pending"), r), 0);
      end if;
    end with;
  end while;
end process

process EndTxn = "EndTxn"
begin end_txn:  \* GMM:883
  while TRUE do
    with r \in EndTxnRequests(Begin) do
      if IsEmptyGroupId(r) then                                                        \* GC:857
        Reply("end-txn/invalid-group-id", ErrorAnswer(This, "INVALID_GROUP_ID"));
      elsif WritesMarkers /\ IsRefused then
        \* 4.1 GCS:2093, with the error for a transaction's coordinator: KafkaApis.scala:1797
        Reply(ByReason("end-txn/not-active", "end-txn/loading", "end-txn/not-coordinator"),
              ErrorAnswer(This, "NOT_LEADER_OR_FOLLOWER"));
      elsif WritesMarkers /\ failing # NoError then                               \* 4.1 CR:1187
        Finish(MarkerFails(Applied("end-txn/not-written")), 0);
      elsif ~active then
        Finish({Answer(WriteMarker(Applied("end-txn/not-active"), r.committed),
                       ErrorAnswer(This, "UNKNOWN_SERVER_ERROR"))}, 0);
      elsif IsDead(group) \/ ~group.awaitsMarker then                                 \* GMM:884
        Finish({AnswerWhenCommitted(WriteMarker(Applied("end-txn/nothing-pending"), r.committed),
                                    "EndTxn", ErrorAnswer(This, "NONE"))}, 0);
      elsif r.committed then                                                           \* GM:670
        Finish({AnswerWhenCommitted(
                  EndTransaction(WriteMarker(Applied("end-txn/committed"), TRUE), TRUE),
                  "EndTxn", ErrorAnswer(This, "NONE"))}, 0);
      else                                                                             \* GM:661
        Finish({AnswerWhenCommitted(
                  EndTransaction(WriteMarker(Applied("end-txn/aborted"), FALSE), FALSE),
                  "EndTxn", ErrorAnswer(This, "NONE"))}, 0);
      end if;
    end with;
  end while;
end process

process ListGroups = "ListGroups"
begin list_groups:  \* GC:806
  while TRUE do
    with r \in ListGroupsRequests do
      if ~active then                                                                  \* GC:808
        Reply("list/not-active", [to |-> This, error |-> Refused, groups |-> {}]);
      elsif serving = "loading" then                                                   \* GC:810
        Reply("list/loading",
              [to |-> This, error |-> "COORDINATOR_LOAD_IN_PROGRESS", groups |-> {}]);
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
    if IsRefused then                                                                  \* GC:859
      Reply(ByReason("delete/not-active", "delete/loading", "delete/not-coordinator"),
            DeleteAnswer("NONE", {Refused}));
    elsif committed # AllCommitted then                                           \* 4.1 CR:997
      Finish({[Applied("delete/waits") EXCEPT
                 !.appends = Append(@, [NoAppend EXCEPT !.kind = "deletion"])]}, 0);
    else
      Finish(Delete(Begin, This), 0);
    end if;
  end while;
end process

process OffsetDelete = "OffsetDelete"
begin offset_delete:  \* GC:551
  while TRUE do
    with r \in OffsetDeleteRequests(group) do
      if IsEmptyGroupId(r) then                                                        \* GC:857
        Reply("offset-delete/invalid-group-id", OffsetDeleteAnswer("INVALID_GROUP_ID", {}));
      elsif IsRefused then                                                             \* GC:859
        Reply(ByReason("offset-delete/not-active", "offset-delete/loading",
                  "offset-delete/not-coordinator"),
              OffsetDeleteAnswer(Refused, {}));
      elsif IsDead(group) then                                                         \* GC:563
        Reply("offset-delete/no-group", OffsetDeleteAnswer("GROUP_ID_NOT_FOUND", {}));
      elsif group.state = "Empty" then                                                 \* GC:574
        Finish(OffsetDeleted(Applied("offset-delete/empty"), r.topic), 0);
      elsif group.protocolType = "consumer" /\ r.topic \in group.subscribed then       \* GC:577
        Finish({AnswerWhenCommitted(Applied("offset-delete/consumers"), "OffsetDelete",
                      OffsetDeleteAnswer("NONE", {<<r.topic, "GROUP_SUBSCRIBED_TO_TOPIC">>}))}, 0);
      elsif group.protocolType = "consumer" then                                       \* GC:577
        Finish(OffsetDeleted(Applied("offset-delete/consumers"), r.topic), 0);
      else                                                                             \* GC:584
        Reply("offset-delete/not-consumers", OffsetDeleteAnswer("NON_EMPTY_GROUP", {}));
      end if;
    end with;
  end while;
end process

process Advance = "Advance"
begin advance:
  while TRUE do
    if Timed then
      Finish({Applied("time/pass")}, 1);
    else
      await group # NoGroup /\ group.joinTimer.initial;
      Finish({Applied("time/pass")}, group.joinTimer.left);
    end if;
  end while;
end process

process Cleanup = "Cleanup"
begin cleanup:  \* GMM:784
  while TRUE do
    await Expires;
    Finish(CleanUp(Begin), 0);
  end while;
end process

process HoldAppends = "HoldAppends"
begin hold_appends:  \* GMM:323
  while TRUE do
    await MaxHeld > 0 /\ ~holding;
    Finish({[Applied("log/hold") EXCEPT !.holding = TRUE]}, 0);
  end while;
end process

process ReleaseAppends = "ReleaseAppends"
begin release_appends:  \* GMM:323
  while TRUE do
    await holding;
    Finish(Release(Applied("log/release")), 0);
  end while;
end process

process FailAppends = "FailAppends"
begin fail_appends:  \* GMM:276
  while TRUE do
    await Fails /\ failing = NoError;
    with error \in AppendErrors do
      Finish({[Applied("log/fail") EXCEPT !.failing = error]}, 0);
    end with;
  end while;
end process

process Crash = "Crash"
begin crash:  \* GMM:544
  while TRUE do
    await Logged;
    Finish(Crashed(Applied("failover/crash")), 0);
  end while;
end process

process Unload = "Unload"
begin unload:  \* GMM:752
  while TRUE do
    await Moves /\ ~(active /\ serving = "unloaded");
    Finish(Moved({Unloaded(Applied("failover/unload"))}), 0);
  end while;
end process

process Loading = "Loading"
begin loading:  \* GMM:533
  while TRUE do
    await Moves /\ ~(active /\ serving = "loading");
    Finish(Moved({[Unloaded(Applied("failover/loading")) EXCEPT !.serving = "loading"]}), 0);
  end while;
end process

process Load = "Load"
begin load:  \* GMM:558
  while TRUE do
    await Moves /\ ~(active /\ serving = "served");
    Finish(Moved(Loaded(Applied("failover/load"))), 0);
  end while;
end process

process Configure = "Configure"
begin configure:  \* GC:1357
  while TRUE do
    await Resizes /\ serving # "served";
    with size \in {1, 2} do
      Finish({[Applied("failover/configured") EXCEPT !.maxSize = size]}, 0);
    end with;
  end while;
end process

process Shutdown = "Shutdown"
begin shutdown:  \* GC:118
  while TRUE do
    await Moves /\ active;
    Finish({ShutDown(Applied("failover/shutdown"))}, 0);
  end while;
end process

end algorithm; *)
\* BEGIN TRANSLATION - the hash of the PCal code: PCal-470386d433beab6b4e474894a42dbfeb
VARIABLES group, holding, appends, serving, active, failing, log, committed, 
          maxSize, forgottenJoin, answers, rules

(* define statement *)
State == <<group, holding, appends, serving, active, failing, log, committed,
           maxSize, forgottenJoin>>
Begin == [group |-> group, holding |-> holding, appends |-> appends, serving |-> serving,
          active |-> active, failing |-> failing, log |-> log, committed |-> committed,
          maxSize |-> maxSize, forgottenJoin |-> forgottenJoin,
          answers |-> {}, rules |-> {}, before |-> group, found |-> group # NoGroup,
          parks |-> NoMember]


ByReason(notActive, loading, notCoordinator) ==
  IF ~active THEN notActive
  ELSE IF serving = "loading" /\ ~Old THEN loading
  ELSE notCoordinator
IsRefused == ~active \/ serving # "served"
RefusalError(loading) == ByReason("COORDINATOR_NOT_AVAILABLE", loading, "NOT_COORDINATOR")
Refused == RefusalError("COORDINATOR_LOAD_IN_PROGRESS")
RefusedSync == IF LoadingRestartsSync THEN RefusalError("REBALANCE_IN_PROGRESS") ELSE Refused
Applied(rule) == Apply(Begin, rule)
IsEmptyGroupId(r) == ChecksEveryGroupId /\ r.groupId = "" /\ (active \/ ~ActiveCheckedFirst)

Moved(outcomes) == IF active THEN outcomes ELSE {Applied("failover/not-active")}


vars == << group, holding, appends, serving, active, failing, log, committed, 
           maxSize, forgottenJoin, answers, rules >>

ProcSet == {"JoinGroup"} \cup {"SyncGroup"} \cup {"Heartbeat"} \cup {"LeaveGroup"} \cup {"OffsetCommit"} \cup {"OffsetFetch"} \cup {"DescribeGroups"} \cup {"TxnOffsetCommit"} \cup {"EndTxn"} \cup {"ListGroups"} \cup {"DeleteGroups"} \cup {"OffsetDelete"} \cup {"Advance"} \cup {"Cleanup"} \cup {"HoldAppends"} \cup {"ReleaseAppends"} \cup {"FailAppends"} \cup {"Crash"} \cup {"Unload"} \cup {"Loading"} \cup {"Load"} \cup {"Configure"} \cup {"Shutdown"}

Init == (* Global variables *)
        /\ group = NoGroup
        /\ holding = FALSE
        /\ appends = <<>>
        /\ serving = "served"
        /\ active = TRUE
        /\ failing = NoError
        /\ log = NoLog
        /\ committed = AllCommitted
        /\ maxSize = MaxSize
        /\ forgottenJoin = Stopped
        /\ answers = {}
        /\ rules = {}

JoinGroup == \E r \in JoinGroupRequests(group, log):
               LET s == CreatedByJoin(Begin) IN
                 LET g == CreatedByJoin(Begin).group IN
                   IF ActiveCheckedFirst /\ ~active
                      THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "join/not-active"), (Refusal(Refused, r.memberId)))}), 0):
                                /\ group' = t.group
                                /\ holding' = t.holding
                                /\ appends' = t.appends
                                /\ serving' = t.serving
                                /\ active' = t.active
                                /\ failing' = t.failing
                                /\ log' = t.log
                                /\ committed' = t.committed
                                /\ maxSize' = t.maxSize
                                /\ forgottenJoin' = t.forgottenJoin
                                /\ answers' = t.answers
                                /\ rules' = t.rules
                      ELSE /\ IF r.groupId = ""
                                 THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "join/invalid-group-id"), (Refusal("INVALID_GROUP_ID", r.memberId)))}), 0):
                                           /\ group' = t.group
                                           /\ holding' = t.holding
                                           /\ appends' = t.appends
                                           /\ serving' = t.serving
                                           /\ active' = t.active
                                           /\ failing' = t.failing
                                           /\ log' = t.log
                                           /\ committed' = t.committed
                                           /\ maxSize' = t.maxSize
                                           /\ forgottenJoin' = t.forgottenJoin
                                           /\ answers' = t.answers
                                           /\ rules' = t.rules
                                 ELSE /\ IF IsRefused /\ ~RuntimeChecksLast
                                            THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, (ByReason("join/not-active", "join/loading", "join/not-coordinator"))), (Refusal(Refused, r.memberId)))}), 0):
                                                      /\ group' = t.group
                                                      /\ holding' = t.holding
                                                      /\ appends' = t.appends
                                                      /\ serving' = t.serving
                                                      /\ active' = t.active
                                                      /\ failing' = t.failing
                                                      /\ log' = t.log
                                                      /\ committed' = t.committed
                                                      /\ maxSize' = t.maxSize
                                                      /\ forgottenJoin' = t.forgottenJoin
                                                      /\ answers' = t.answers
                                                      /\ rules' = t.rules
                                            ELSE /\ IF r.sessionTicks = 0
                                                       THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "join/session-timeout-out-of-range"), (Refusal("INVALID_SESSION_TIMEOUT", r.memberId)))}), 0):
                                                                 /\ group' = t.group
                                                                 /\ holding' = t.holding
                                                                 /\ appends' = t.appends
                                                                 /\ serving' = t.serving
                                                                 /\ active' = t.active
                                                                 /\ failing' = t.failing
                                                                 /\ log' = t.log
                                                                 /\ committed' = t.committed
                                                                 /\ maxSize' = t.maxSize
                                                                 /\ forgottenJoin' = t.forgottenJoin
                                                                 /\ answers' = t.answers
                                                                 /\ rules' = t.rules
                                                       ELSE /\ IF IsRefused
                                                                  THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, (ByReason("", "join/loading", "join/not-coordinator"))), (Refusal(Refused, NoMember)))}), 0):
                                                                            /\ group' = t.group
                                                                            /\ holding' = t.holding
                                                                            /\ appends' = t.appends
                                                                            /\ serving' = t.serving
                                                                            /\ active' = t.active
                                                                            /\ failing' = t.failing
                                                                            /\ log' = t.log
                                                                            /\ committed' = t.committed
                                                                            /\ maxSize' = t.maxSize
                                                                            /\ forgottenJoin' = t.forgottenJoin
                                                                            /\ answers' = t.answers
                                                                            /\ rules' = t.rules
                                                                  ELSE /\ IF IsDead(group) /\ r.memberId # NoMember
                                                                             THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "join/no-group"), (Refusal("UNKNOWN_MEMBER_ID", r.memberId)))}), 0):
                                                                                       /\ group' = t.group
                                                                                       /\ holding' = t.holding
                                                                                       /\ appends' = t.appends
                                                                                       /\ serving' = t.serving
                                                                                       /\ active' = t.active
                                                                                       /\ failing' = t.failing
                                                                                       /\ log' = t.log
                                                                                       /\ committed' = t.committed
                                                                                       /\ maxSize' = t.maxSize
                                                                                       /\ forgottenJoin' = t.forgottenJoin
                                                                                       /\ answers' = t.answers
                                                                                       /\ rules' = t.rules
                                                                             ELSE /\ IF IsFull(s, r)
                                                                                        THEN /\ \E t \in Outcomes((UNION {EndRejectedJoin(t) : t \in RejectFull(Apply(s, "join/group-full"), r)}), 0):
                                                                                                  /\ group' = t.group
                                                                                                  /\ holding' = t.holding
                                                                                                  /\ appends' = t.appends
                                                                                                  /\ serving' = t.serving
                                                                                                  /\ active' = t.active
                                                                                                  /\ failing' = t.failing
                                                                                                  /\ log' = t.log
                                                                                                  /\ committed' = t.committed
                                                                                                  /\ maxSize' = t.maxSize
                                                                                                  /\ forgottenJoin' = t.forgottenJoin
                                                                                                  /\ answers' = t.answers
                                                                                                  /\ rules' = t.rules
                                                                                        ELSE /\ IF r.memberId = NoMember
                                                                                                   THEN /\ IF IsInconsistent(g, r)
                                                                                                              THEN /\ \E t \in Outcomes((EndRejectedJoin(RejectInconsistent(Apply(s, "join/new-inconsistent"),
                                                                                                                                                                            NoMember))), 0):
                                                                                                                        /\ group' = t.group
                                                                                                                        /\ holding' = t.holding
                                                                                                                        /\ appends' = t.appends
                                                                                                                        /\ serving' = t.serving
                                                                                                                        /\ active' = t.active
                                                                                                                        /\ failing' = t.failing
                                                                                                                        /\ log' = t.log
                                                                                                                        /\ committed' = t.committed
                                                                                                                        /\ maxSize' = t.maxSize
                                                                                                                        /\ forgottenJoin' = t.forgottenJoin
                                                                                                                        /\ answers' = t.answers
                                                                                                                        /\ rules' = t.rules
                                                                                                              ELSE /\ IF StaticMemberId(g, r.instance) # NoMember
                                                                                                                         THEN /\ \E t \in Outcomes((EndJoin(RejoinStatic(s, r))), 0):
                                                                                                                                   /\ group' = t.group
                                                                                                                                   /\ holding' = t.holding
                                                                                                                                   /\ appends' = t.appends
                                                                                                                                   /\ serving' = t.serving
                                                                                                                                   /\ active' = t.active
                                                                                                                                   /\ failing' = t.failing
                                                                                                                                   /\ log' = t.log
                                                                                                                                   /\ committed' = t.committed
                                                                                                                                   /\ maxSize' = t.maxSize
                                                                                                                                   /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                   /\ answers' = t.answers
                                                                                                                                   /\ rules' = t.rules
                                                                                                                         ELSE /\ IF r.givesId /\ r.instance = NoInstance
                                                                                                                                    THEN /\ \E t \in Outcomes((RecordNewGroups({GiveId(Apply(s, "join/member-id-required"), n)
                                                                                                                                                                         : n \in FreeNames(g, log)})), 0):
                                                                                                                                              /\ group' = t.group
                                                                                                                                              /\ holding' = t.holding
                                                                                                                                              /\ appends' = t.appends
                                                                                                                                              /\ serving' = t.serving
                                                                                                                                              /\ active' = t.active
                                                                                                                                              /\ failing' = t.failing
                                                                                                                                              /\ log' = t.log
                                                                                                                                              /\ committed' = t.committed
                                                                                                                                              /\ maxSize' = t.maxSize
                                                                                                                                              /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                              /\ answers' = t.answers
                                                                                                                                              /\ rules' = t.rules
                                                                                                                                    ELSE /\ \E t \in Outcomes((EndJoin(UNION {AddMember(Apply(s, "join/new-member"), n, r)
                                                                                                                                                                             : n \in FreeNames(g, log)})), 0):
                                                                                                                                              /\ group' = t.group
                                                                                                                                              /\ holding' = t.holding
                                                                                                                                              /\ appends' = t.appends
                                                                                                                                              /\ serving' = t.serving
                                                                                                                                              /\ active' = t.active
                                                                                                                                              /\ failing' = t.failing
                                                                                                                                              /\ log' = t.log
                                                                                                                                              /\ committed' = t.committed
                                                                                                                                              /\ maxSize' = t.maxSize
                                                                                                                                              /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                              /\ answers' = t.answers
                                                                                                                                              /\ rules' = t.rules
                                                                                                   ELSE /\ IF IsInconsistent(g, r)
                                                                                                              THEN /\ \E t \in Outcomes((EndRejectedJoin(RejectInconsistent(Apply(s, "join/inconsistent"), r.memberId))), 0):
                                                                                                                        /\ group' = t.group
                                                                                                                        /\ holding' = t.holding
                                                                                                                        /\ appends' = t.appends
                                                                                                                        /\ serving' = t.serving
                                                                                                                        /\ active' = t.active
                                                                                                                        /\ failing' = t.failing
                                                                                                                        /\ log' = t.log
                                                                                                                        /\ committed' = t.committed
                                                                                                                        /\ maxSize' = t.maxSize
                                                                                                                        /\ forgottenJoin' = t.forgottenJoin
                                                                                                                        /\ answers' = t.answers
                                                                                                                        /\ rules' = t.rules
                                                                                                              ELSE /\ IF r.memberId \in DOMAIN g.pending /\ r.instance # NoInstance
                                                                                                                         THEN /\ \E t \in Outcomes((EndRejectedJoin(Answer(Apply(s, "join/pending-static"),
                                                                                                                                                                     JoinAnswer(This, "UNKNOWN_SERVER_ERROR", NoMember)))), 0):
                                                                                                                                   /\ group' = t.group
                                                                                                                                   /\ holding' = t.holding
                                                                                                                                   /\ appends' = t.appends
                                                                                                                                   /\ serving' = t.serving
                                                                                                                                   /\ active' = t.active
                                                                                                                                   /\ failing' = t.failing
                                                                                                                                   /\ log' = t.log
                                                                                                                                   /\ committed' = t.committed
                                                                                                                                   /\ maxSize' = t.maxSize
                                                                                                                                   /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                   /\ answers' = t.answers
                                                                                                                                   /\ rules' = t.rules
                                                                                                                         ELSE /\ IF r.memberId \in DOMAIN g.pending
                                                                                                                                    THEN /\ \E t \in Outcomes((EndJoin(AddMember(Apply(s, "join/pending-member"), r.memberId, r))), 0):
                                                                                                                                              /\ group' = t.group
                                                                                                                                              /\ holding' = t.holding
                                                                                                                                              /\ appends' = t.appends
                                                                                                                                              /\ serving' = t.serving
                                                                                                                                              /\ active' = t.active
                                                                                                                                              /\ failing' = t.failing
                                                                                                                                              /\ log' = t.log
                                                                                                                                              /\ committed' = t.committed
                                                                                                                                              /\ maxSize' = t.maxSize
                                                                                                                                              /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                              /\ answers' = t.answers
                                                                                                                                              /\ rules' = t.rules
                                                                                                                                    ELSE /\ IF IsFenced(g, r)
                                                                                                                                               THEN /\ \E t \in Outcomes((EndRejectedJoin(Answer(Apply(s, "join/fenced"),
                                                                                                                                                                                           Refusal("FENCED_INSTANCE_ID", r.memberId)))), 0):
                                                                                                                                                         /\ group' = t.group
                                                                                                                                                         /\ holding' = t.holding
                                                                                                                                                         /\ appends' = t.appends
                                                                                                                                                         /\ serving' = t.serving
                                                                                                                                                         /\ active' = t.active
                                                                                                                                                         /\ failing' = t.failing
                                                                                                                                                         /\ log' = t.log
                                                                                                                                                         /\ committed' = t.committed
                                                                                                                                                         /\ maxSize' = t.maxSize
                                                                                                                                                         /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                                         /\ answers' = t.answers
                                                                                                                                                         /\ rules' = t.rules
                                                                                                                                               ELSE /\ IF r.instance # NoInstance /\ StaticMemberId(g, r.instance) = NoMember
                                                                                                                                                          THEN /\ \E t \in Outcomes((EndRejectedJoin(Answer(Apply(s, "join/unknown-instance"),
                                                                                                                                                                                                      Refusal("UNKNOWN_MEMBER_ID", r.memberId)))), 0):
                                                                                                                                                                    /\ group' = t.group
                                                                                                                                                                    /\ holding' = t.holding
                                                                                                                                                                    /\ appends' = t.appends
                                                                                                                                                                    /\ serving' = t.serving
                                                                                                                                                                    /\ active' = t.active
                                                                                                                                                                    /\ failing' = t.failing
                                                                                                                                                                    /\ log' = t.log
                                                                                                                                                                    /\ committed' = t.committed
                                                                                                                                                                    /\ maxSize' = t.maxSize
                                                                                                                                                                    /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                                                    /\ answers' = t.answers
                                                                                                                                                                    /\ rules' = t.rules
                                                                                                                                                          ELSE /\ IF r.memberId \notin DOMAIN g.members
                                                                                                                                                                     THEN /\ \E t \in Outcomes((EndRejectedJoin(Answer(Apply(s, "join/unknown-member"),
                                                                                                                                                                                                                 Refusal("UNKNOWN_MEMBER_ID", r.memberId)))), 0):
                                                                                                                                                                               /\ group' = t.group
                                                                                                                                                                               /\ holding' = t.holding
                                                                                                                                                                               /\ appends' = t.appends
                                                                                                                                                                               /\ serving' = t.serving
                                                                                                                                                                               /\ active' = t.active
                                                                                                                                                                               /\ failing' = t.failing
                                                                                                                                                                               /\ log' = t.log
                                                                                                                                                                               /\ committed' = t.committed
                                                                                                                                                                               /\ maxSize' = t.maxSize
                                                                                                                                                                               /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                                                               /\ answers' = t.answers
                                                                                                                                                                               /\ rules' = t.rules
                                                                                                                                                                     ELSE /\ IF g.state = "PreparingRebalance"
                                                                                                                                                                                THEN /\ \E t \in Outcomes((EndJoin(Rejoin(Apply(s, "join/rejoin-preparing"), r))), 0):
                                                                                                                                                                                          /\ group' = t.group
                                                                                                                                                                                          /\ holding' = t.holding
                                                                                                                                                                                          /\ appends' = t.appends
                                                                                                                                                                                          /\ serving' = t.serving
                                                                                                                                                                                          /\ active' = t.active
                                                                                                                                                                                          /\ failing' = t.failing
                                                                                                                                                                                          /\ log' = t.log
                                                                                                                                                                                          /\ committed' = t.committed
                                                                                                                                                                                          /\ maxSize' = t.maxSize
                                                                                                                                                                                          /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                                                                          /\ answers' = t.answers
                                                                                                                                                                                          /\ rules' = t.rules
                                                                                                                                                                                ELSE /\ IF g.state = "CompletingRebalance" /\ IsUnchanged(g, r)
                                                                                                                                                                                           THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "join/repeated-completing"), (CurrentGeneration(Parked("JoinGroup", r.memberId), g, r.memberId)))}), 0):
                                                                                                                                                                                                     /\ group' = t.group
                                                                                                                                                                                                     /\ holding' = t.holding
                                                                                                                                                                                                     /\ appends' = t.appends
                                                                                                                                                                                                     /\ serving' = t.serving
                                                                                                                                                                                                     /\ active' = t.active
                                                                                                                                                                                                     /\ failing' = t.failing
                                                                                                                                                                                                     /\ log' = t.log
                                                                                                                                                                                                     /\ committed' = t.committed
                                                                                                                                                                                                     /\ maxSize' = t.maxSize
                                                                                                                                                                                                     /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                                                                                     /\ answers' = t.answers
                                                                                                                                                                                                     /\ rules' = t.rules
                                                                                                                                                                                           ELSE /\ IF g.state = "CompletingRebalance"
                                                                                                                                                                                                      THEN /\ \E t \in Outcomes((EndJoin(Rejoin(Apply(s, "join/changed-completing"), r))), 0):
                                                                                                                                                                                                                /\ group' = t.group
                                                                                                                                                                                                                /\ holding' = t.holding
                                                                                                                                                                                                                /\ appends' = t.appends
                                                                                                                                                                                                                /\ serving' = t.serving
                                                                                                                                                                                                                /\ active' = t.active
                                                                                                                                                                                                                /\ failing' = t.failing
                                                                                                                                                                                                                /\ log' = t.log
                                                                                                                                                                                                                /\ committed' = t.committed
                                                                                                                                                                                                                /\ maxSize' = t.maxSize
                                                                                                                                                                                                                /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                                                                                                /\ answers' = t.answers
                                                                                                                                                                                                                /\ rules' = t.rules
                                                                                                                                                                                                      ELSE /\ IF g.leader = r.memberId
                                                                                                                                                                                                                 THEN /\ \E t \in Outcomes((EndJoin(Rejoin(Apply(s, "join/leader-stable"), r))), 0):
                                                                                                                                                                                                                           /\ group' = t.group
                                                                                                                                                                                                                           /\ holding' = t.holding
                                                                                                                                                                                                                           /\ appends' = t.appends
                                                                                                                                                                                                                           /\ serving' = t.serving
                                                                                                                                                                                                                           /\ active' = t.active
                                                                                                                                                                                                                           /\ failing' = t.failing
                                                                                                                                                                                                                           /\ log' = t.log
                                                                                                                                                                                                                           /\ committed' = t.committed
                                                                                                                                                                                                                           /\ maxSize' = t.maxSize
                                                                                                                                                                                                                           /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                                                                                                           /\ answers' = t.answers
                                                                                                                                                                                                                           /\ rules' = t.rules
                                                                                                                                                                                                                 ELSE /\ IF ~IsUnchanged(g, r)
                                                                                                                                                                                                                            THEN /\ \E t \in Outcomes((EndJoin(Rejoin(Apply(s, "join/changed-stable"), r))), 0):
                                                                                                                                                                                                                                      /\ group' = t.group
                                                                                                                                                                                                                                      /\ holding' = t.holding
                                                                                                                                                                                                                                      /\ appends' = t.appends
                                                                                                                                                                                                                                      /\ serving' = t.serving
                                                                                                                                                                                                                                      /\ active' = t.active
                                                                                                                                                                                                                                      /\ failing' = t.failing
                                                                                                                                                                                                                                      /\ log' = t.log
                                                                                                                                                                                                                                      /\ committed' = t.committed
                                                                                                                                                                                                                                      /\ maxSize' = t.maxSize
                                                                                                                                                                                                                                      /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                                                                                                                      /\ answers' = t.answers
                                                                                                                                                                                                                                      /\ rules' = t.rules
                                                                                                                                                                                                                            ELSE /\ \E t \in Outcomes(({Answer(Apply(Begin, "join/repeated-stable"), (CurrentGeneration(Parked("JoinGroup", r.memberId), g, r.memberId)))}), 0):
                                                                                                                                                                                                                                      /\ group' = t.group
                                                                                                                                                                                                                                      /\ holding' = t.holding
                                                                                                                                                                                                                                      /\ appends' = t.appends
                                                                                                                                                                                                                                      /\ serving' = t.serving
                                                                                                                                                                                                                                      /\ active' = t.active
                                                                                                                                                                                                                                      /\ failing' = t.failing
                                                                                                                                                                                                                                      /\ log' = t.log
                                                                                                                                                                                                                                      /\ committed' = t.committed
                                                                                                                                                                                                                                      /\ maxSize' = t.maxSize
                                                                                                                                                                                                                                      /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                                                                                                                      /\ answers' = t.answers
                                                                                                                                                                                                                                      /\ rules' = t.rules

SyncGroup == \E r \in SyncGroupRequests(group):
               IF SyncsByProtocol /\ r.protocolType = Null
                  THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "sync/protocol-missing"), (SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL")))}), 0):
                            /\ group' = t.group
                            /\ holding' = t.holding
                            /\ appends' = t.appends
                            /\ serving' = t.serving
                            /\ active' = t.active
                            /\ failing' = t.failing
                            /\ log' = t.log
                            /\ committed' = t.committed
                            /\ maxSize' = t.maxSize
                            /\ forgottenJoin' = t.forgottenJoin
                            /\ answers' = t.answers
                            /\ rules' = t.rules
                  ELSE /\ IF IsEmptyGroupId(r)
                             THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "sync/invalid-group-id"), (SyncAnswer(This, "INVALID_GROUP_ID")))}), 0):
                                       /\ group' = t.group
                                       /\ holding' = t.holding
                                       /\ appends' = t.appends
                                       /\ serving' = t.serving
                                       /\ active' = t.active
                                       /\ failing' = t.failing
                                       /\ log' = t.log
                                       /\ committed' = t.committed
                                       /\ maxSize' = t.maxSize
                                       /\ forgottenJoin' = t.forgottenJoin
                                       /\ answers' = t.answers
                                       /\ rules' = t.rules
                             ELSE /\ IF IsRefused
                                        THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, (ByReason("sync/not-active", "sync/loading", "sync/not-coordinator"))), (SyncAnswer(This, RefusedSync)))}), 0):
                                                  /\ group' = t.group
                                                  /\ holding' = t.holding
                                                  /\ appends' = t.appends
                                                  /\ serving' = t.serving
                                                  /\ active' = t.active
                                                  /\ failing' = t.failing
                                                  /\ log' = t.log
                                                  /\ committed' = t.committed
                                                  /\ maxSize' = t.maxSize
                                                  /\ forgottenJoin' = t.forgottenJoin
                                                  /\ answers' = t.answers
                                                  /\ rules' = t.rules
                                        ELSE /\ IF IsDead(group) \/ r.groupId = ""
                                                   THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "sync/no-group"), (SyncAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                             /\ group' = t.group
                                                             /\ holding' = t.holding
                                                             /\ appends' = t.appends
                                                             /\ serving' = t.serving
                                                             /\ active' = t.active
                                                             /\ failing' = t.failing
                                                             /\ log' = t.log
                                                             /\ committed' = t.committed
                                                             /\ maxSize' = t.maxSize
                                                             /\ forgottenJoin' = t.forgottenJoin
                                                             /\ answers' = t.answers
                                                             /\ rules' = t.rules
                                                   ELSE /\ IF EmptyRefusesSync /\ group.state = "Empty"
                                                              THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "sync/empty-group"), (SyncAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                        /\ group' = t.group
                                                                        /\ holding' = t.holding
                                                                        /\ appends' = t.appends
                                                                        /\ serving' = t.serving
                                                                        /\ active' = t.active
                                                                        /\ failing' = t.failing
                                                                        /\ log' = t.log
                                                                        /\ committed' = t.committed
                                                                        /\ maxSize' = t.maxSize
                                                                        /\ forgottenJoin' = t.forgottenJoin
                                                                        /\ answers' = t.answers
                                                                        /\ rules' = t.rules
                                                              ELSE /\ IF IsUnknownInstance(group, r)
                                                                         THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "sync/unknown-instance"), (SyncAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                                   /\ group' = t.group
                                                                                   /\ holding' = t.holding
                                                                                   /\ appends' = t.appends
                                                                                   /\ serving' = t.serving
                                                                                   /\ active' = t.active
                                                                                   /\ failing' = t.failing
                                                                                   /\ log' = t.log
                                                                                   /\ committed' = t.committed
                                                                                   /\ maxSize' = t.maxSize
                                                                                   /\ forgottenJoin' = t.forgottenJoin
                                                                                   /\ answers' = t.answers
                                                                                   /\ rules' = t.rules
                                                                         ELSE /\ IF IsFenced(group, r)
                                                                                    THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "sync/fenced"), (SyncAnswer(This, "FENCED_INSTANCE_ID")))}), 0):
                                                                                              /\ group' = t.group
                                                                                              /\ holding' = t.holding
                                                                                              /\ appends' = t.appends
                                                                                              /\ serving' = t.serving
                                                                                              /\ active' = t.active
                                                                                              /\ failing' = t.failing
                                                                                              /\ log' = t.log
                                                                                              /\ committed' = t.committed
                                                                                              /\ maxSize' = t.maxSize
                                                                                              /\ forgottenJoin' = t.forgottenJoin
                                                                                              /\ answers' = t.answers
                                                                                              /\ rules' = t.rules
                                                                                    ELSE /\ IF r.memberId \notin DOMAIN group.members
                                                                                               THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "sync/unknown-member"), (SyncAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                                                         /\ group' = t.group
                                                                                                         /\ holding' = t.holding
                                                                                                         /\ appends' = t.appends
                                                                                                         /\ serving' = t.serving
                                                                                                         /\ active' = t.active
                                                                                                         /\ failing' = t.failing
                                                                                                         /\ log' = t.log
                                                                                                         /\ committed' = t.committed
                                                                                                         /\ maxSize' = t.maxSize
                                                                                                         /\ forgottenJoin' = t.forgottenJoin
                                                                                                         /\ answers' = t.answers
                                                                                                         /\ rules' = t.rules
                                                                                               ELSE /\ IF r.generation # group.generation
                                                                                                          THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "sync/other-generation"), (SyncAnswer(This, "ILLEGAL_GENERATION")))}), 0):
                                                                                                                    /\ group' = t.group
                                                                                                                    /\ holding' = t.holding
                                                                                                                    /\ appends' = t.appends
                                                                                                                    /\ serving' = t.serving
                                                                                                                    /\ active' = t.active
                                                                                                                    /\ failing' = t.failing
                                                                                                                    /\ log' = t.log
                                                                                                                    /\ committed' = t.committed
                                                                                                                    /\ maxSize' = t.maxSize
                                                                                                                    /\ forgottenJoin' = t.forgottenJoin
                                                                                                                    /\ answers' = t.answers
                                                                                                                    /\ rules' = t.rules
                                                                                                          ELSE /\ IF r.protocolType \notin {Null, group.protocolType}
                                                                                                                     THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "sync/other-protocol-type"), (SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL")))}), 0):
                                                                                                                               /\ group' = t.group
                                                                                                                               /\ holding' = t.holding
                                                                                                                               /\ appends' = t.appends
                                                                                                                               /\ serving' = t.serving
                                                                                                                               /\ active' = t.active
                                                                                                                               /\ failing' = t.failing
                                                                                                                               /\ log' = t.log
                                                                                                                               /\ committed' = t.committed
                                                                                                                               /\ maxSize' = t.maxSize
                                                                                                                               /\ forgottenJoin' = t.forgottenJoin
                                                                                                                               /\ answers' = t.answers
                                                                                                                               /\ rules' = t.rules
                                                                                                                     ELSE /\ IF /\ r.protocolName \notin {Null, group.protocolName}
                                                                                                                                /\ ~(AnyProtocolUntilChosen /\ group.protocolName = Null)
                                                                                                                                THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "sync/other-protocol-name"), (SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL")))}), 0):
                                                                                                                                          /\ group' = t.group
                                                                                                                                          /\ holding' = t.holding
                                                                                                                                          /\ appends' = t.appends
                                                                                                                                          /\ serving' = t.serving
                                                                                                                                          /\ active' = t.active
                                                                                                                                          /\ failing' = t.failing
                                                                                                                                          /\ log' = t.log
                                                                                                                                          /\ committed' = t.committed
                                                                                                                                          /\ maxSize' = t.maxSize
                                                                                                                                          /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                          /\ answers' = t.answers
                                                                                                                                          /\ rules' = t.rules
                                                                                                                                ELSE /\ IF group.state = "PreparingRebalance"
                                                                                                                                           THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "sync/preparing"), (SyncAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                                                                                     /\ group' = t.group
                                                                                                                                                     /\ holding' = t.holding
                                                                                                                                                     /\ appends' = t.appends
                                                                                                                                                     /\ serving' = t.serving
                                                                                                                                                     /\ active' = t.active
                                                                                                                                                     /\ failing' = t.failing
                                                                                                                                                     /\ log' = t.log
                                                                                                                                                     /\ committed' = t.committed
                                                                                                                                                     /\ maxSize' = t.maxSize
                                                                                                                                                     /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                                     /\ answers' = t.answers
                                                                                                                                                     /\ rules' = t.rules
                                                                                                                                           ELSE /\ IF group.state = "CompletingRebalance" /\ group.leader = r.memberId
                                                                                                                                                      THEN /\ \E t \in Outcomes((StoreAssignments(ParkSync(Applied("sync/leader-completing"), r.memberId),
                                                                                                                                                                                                  r.assignments)), 0):
                                                                                                                                                                /\ group' = t.group
                                                                                                                                                                /\ holding' = t.holding
                                                                                                                                                                /\ appends' = t.appends
                                                                                                                                                                /\ serving' = t.serving
                                                                                                                                                                /\ active' = t.active
                                                                                                                                                                /\ failing' = t.failing
                                                                                                                                                                /\ log' = t.log
                                                                                                                                                                /\ committed' = t.committed
                                                                                                                                                                /\ maxSize' = t.maxSize
                                                                                                                                                                /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                                                /\ answers' = t.answers
                                                                                                                                                                /\ rules' = t.rules
                                                                                                                                                      ELSE /\ IF group.state = "CompletingRebalance"
                                                                                                                                                                 THEN /\ \E t \in Outcomes(({HoldRequest(ParkSync(Applied("sync/follower-completing"), r.memberId),
                                                                                                                                                                                                         "SyncGroup", r.memberId)}), 0):
                                                                                                                                                                           /\ group' = t.group
                                                                                                                                                                           /\ holding' = t.holding
                                                                                                                                                                           /\ appends' = t.appends
                                                                                                                                                                           /\ serving' = t.serving
                                                                                                                                                                           /\ active' = t.active
                                                                                                                                                                           /\ failing' = t.failing
                                                                                                                                                                           /\ log' = t.log
                                                                                                                                                                           /\ committed' = t.committed
                                                                                                                                                                           /\ maxSize' = t.maxSize
                                                                                                                                                                           /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                                                           /\ answers' = t.answers
                                                                                                                                                                           /\ rules' = t.rules
                                                                                                                                                                 ELSE /\ \E t \in Outcomes(({Answer(NoteSyncedInStable(Applied("sync/stable"), r.memberId),
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
                                                                                                                                                                           /\ maxSize' = t.maxSize
                                                                                                                                                                           /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                                                           /\ answers' = t.answers
                                                                                                                                                                           /\ rules' = t.rules

Heartbeat == \E r \in HeartbeatRequests(group):
               IF IsEmptyGroupId(r)
                  THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "heartbeat/invalid-group-id"), (ErrorAnswer(This, "INVALID_GROUP_ID")))}), 0):
                            /\ group' = t.group
                            /\ holding' = t.holding
                            /\ appends' = t.appends
                            /\ serving' = t.serving
                            /\ active' = t.active
                            /\ failing' = t.failing
                            /\ log' = t.log
                            /\ committed' = t.committed
                            /\ maxSize' = t.maxSize
                            /\ forgottenJoin' = t.forgottenJoin
                            /\ answers' = t.answers
                            /\ rules' = t.rules
                  ELSE /\ IF IsRefused
                             THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, (ByReason("heartbeat/not-active", "heartbeat/loading", "heartbeat/not-coordinator"))), (ErrorAnswer(This, RefusalError("NONE"))))}), 0):
                                       /\ group' = t.group
                                       /\ holding' = t.holding
                                       /\ appends' = t.appends
                                       /\ serving' = t.serving
                                       /\ active' = t.active
                                       /\ failing' = t.failing
                                       /\ log' = t.log
                                       /\ committed' = t.committed
                                       /\ maxSize' = t.maxSize
                                       /\ forgottenJoin' = t.forgottenJoin
                                       /\ answers' = t.answers
                                       /\ rules' = t.rules
                             ELSE /\ IF IsDead(group) \/ r.groupId = ""
                                        THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "heartbeat/no-group"), (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                  /\ group' = t.group
                                                  /\ holding' = t.holding
                                                  /\ appends' = t.appends
                                                  /\ serving' = t.serving
                                                  /\ active' = t.active
                                                  /\ failing' = t.failing
                                                  /\ log' = t.log
                                                  /\ committed' = t.committed
                                                  /\ maxSize' = t.maxSize
                                                  /\ forgottenJoin' = t.forgottenJoin
                                                  /\ answers' = t.answers
                                                  /\ rules' = t.rules
                                        ELSE /\ IF IsUnknownInstance(group, r)
                                                   THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "heartbeat/unknown-instance"), (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                             /\ group' = t.group
                                                             /\ holding' = t.holding
                                                             /\ appends' = t.appends
                                                             /\ serving' = t.serving
                                                             /\ active' = t.active
                                                             /\ failing' = t.failing
                                                             /\ log' = t.log
                                                             /\ committed' = t.committed
                                                             /\ maxSize' = t.maxSize
                                                             /\ forgottenJoin' = t.forgottenJoin
                                                             /\ answers' = t.answers
                                                             /\ rules' = t.rules
                                                   ELSE /\ IF IsFenced(group, r)
                                                              THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "heartbeat/fenced"), (ErrorAnswer(This, "FENCED_INSTANCE_ID")))}), 0):
                                                                        /\ group' = t.group
                                                                        /\ holding' = t.holding
                                                                        /\ appends' = t.appends
                                                                        /\ serving' = t.serving
                                                                        /\ active' = t.active
                                                                        /\ failing' = t.failing
                                                                        /\ log' = t.log
                                                                        /\ committed' = t.committed
                                                                        /\ maxSize' = t.maxSize
                                                                        /\ forgottenJoin' = t.forgottenJoin
                                                                        /\ answers' = t.answers
                                                                        /\ rules' = t.rules
                                                              ELSE /\ IF ~HeartbeatsInPreparing /\ group.state # "Stable"
                                                                         THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "heartbeat/unstable"), (ErrorAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                   /\ group' = t.group
                                                                                   /\ holding' = t.holding
                                                                                   /\ appends' = t.appends
                                                                                   /\ serving' = t.serving
                                                                                   /\ active' = t.active
                                                                                   /\ failing' = t.failing
                                                                                   /\ log' = t.log
                                                                                   /\ committed' = t.committed
                                                                                   /\ maxSize' = t.maxSize
                                                                                   /\ forgottenJoin' = t.forgottenJoin
                                                                                   /\ answers' = t.answers
                                                                                   /\ rules' = t.rules
                                                                         ELSE /\ IF r.memberId \notin DOMAIN group.members
                                                                                    THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "heartbeat/unknown-member"), (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                                              /\ group' = t.group
                                                                                              /\ holding' = t.holding
                                                                                              /\ appends' = t.appends
                                                                                              /\ serving' = t.serving
                                                                                              /\ active' = t.active
                                                                                              /\ failing' = t.failing
                                                                                              /\ log' = t.log
                                                                                              /\ committed' = t.committed
                                                                                              /\ maxSize' = t.maxSize
                                                                                              /\ forgottenJoin' = t.forgottenJoin
                                                                                              /\ answers' = t.answers
                                                                                              /\ rules' = t.rules
                                                                                    ELSE /\ IF group.state = "CompletingRebalance" /\ ~HeartbeatsInCompleting
                                                                                               THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "heartbeat/completing"), (ErrorAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                                         /\ group' = t.group
                                                                                                         /\ holding' = t.holding
                                                                                                         /\ appends' = t.appends
                                                                                                         /\ serving' = t.serving
                                                                                                         /\ active' = t.active
                                                                                                         /\ failing' = t.failing
                                                                                                         /\ log' = t.log
                                                                                                         /\ committed' = t.committed
                                                                                                         /\ maxSize' = t.maxSize
                                                                                                         /\ forgottenJoin' = t.forgottenJoin
                                                                                                         /\ answers' = t.answers
                                                                                                         /\ rules' = t.rules
                                                                                               ELSE /\ IF r.generation # group.generation
                                                                                                          THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "heartbeat/other-generation"), (ErrorAnswer(This, "ILLEGAL_GENERATION")))}), 0):
                                                                                                                    /\ group' = t.group
                                                                                                                    /\ holding' = t.holding
                                                                                                                    /\ appends' = t.appends
                                                                                                                    /\ serving' = t.serving
                                                                                                                    /\ active' = t.active
                                                                                                                    /\ failing' = t.failing
                                                                                                                    /\ log' = t.log
                                                                                                                    /\ committed' = t.committed
                                                                                                                    /\ maxSize' = t.maxSize
                                                                                                                    /\ forgottenJoin' = t.forgottenJoin
                                                                                                                    /\ answers' = t.answers
                                                                                                                    /\ rules' = t.rules
                                                                                                          ELSE /\ IF group.state = "PreparingRebalance"
                                                                                                                     THEN /\ \E t \in Outcomes(({AnswerWhenCommitted(RestartSession(Applied("heartbeat/preparing"), r.memberId),
                                                                                                                                                                     "Heartbeat", ErrorAnswer(This, "REBALANCE_IN_PROGRESS"))}), 0):
                                                                                                                               /\ group' = t.group
                                                                                                                               /\ holding' = t.holding
                                                                                                                               /\ appends' = t.appends
                                                                                                                               /\ serving' = t.serving
                                                                                                                               /\ active' = t.active
                                                                                                                               /\ failing' = t.failing
                                                                                                                               /\ log' = t.log
                                                                                                                               /\ committed' = t.committed
                                                                                                                               /\ maxSize' = t.maxSize
                                                                                                                               /\ forgottenJoin' = t.forgottenJoin
                                                                                                                               /\ answers' = t.answers
                                                                                                                               /\ rules' = t.rules
                                                                                                                     ELSE /\ \E t \in Outcomes(({AnswerWhenCommitted(RestartSession(Applied("heartbeat/alive"), r.memberId),
                                                                                                                                                                     "Heartbeat", ErrorAnswer(This, "NONE"))}), 0):
                                                                                                                               /\ group' = t.group
                                                                                                                               /\ holding' = t.holding
                                                                                                                               /\ appends' = t.appends
                                                                                                                               /\ serving' = t.serving
                                                                                                                               /\ active' = t.active
                                                                                                                               /\ failing' = t.failing
                                                                                                                               /\ log' = t.log
                                                                                                                               /\ committed' = t.committed
                                                                                                                               /\ maxSize' = t.maxSize
                                                                                                                               /\ forgottenJoin' = t.forgottenJoin
                                                                                                                               /\ answers' = t.answers
                                                                                                                               /\ rules' = t.rules

LeaveGroup == \E r \in LeaveGroupRequests(group):
                IF IsEmptyGroupId(r)
                   THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "leave/invalid-group-id"), (LeaveAnswer(r, "INVALID_GROUP_ID", "")))}), 0):
                             /\ group' = t.group
                             /\ holding' = t.holding
                             /\ appends' = t.appends
                             /\ serving' = t.serving
                             /\ active' = t.active
                             /\ failing' = t.failing
                             /\ log' = t.log
                             /\ committed' = t.committed
                             /\ maxSize' = t.maxSize
                             /\ forgottenJoin' = t.forgottenJoin
                             /\ answers' = t.answers
                             /\ rules' = t.rules
                   ELSE /\ IF IsRefused
                              THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, (ByReason("leave/not-active", "leave/loading", "leave/not-coordinator"))), (LeaveAnswer(r, Refused, "")))}), 0):
                                        /\ group' = t.group
                                        /\ holding' = t.holding
                                        /\ appends' = t.appends
                                        /\ serving' = t.serving
                                        /\ active' = t.active
                                        /\ failing' = t.failing
                                        /\ log' = t.log
                                        /\ committed' = t.committed
                                        /\ maxSize' = t.maxSize
                                        /\ forgottenJoin' = t.forgottenJoin
                                        /\ answers' = t.answers
                                        /\ rules' = t.rules
                              ELSE /\ IF IsDead(group) \/ r.groupId = ""
                                         THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "leave/no-group"), (LeaveAnswer(r, "NONE", "UNKNOWN_MEMBER_ID")))}), 0):
                                                   /\ group' = t.group
                                                   /\ holding' = t.holding
                                                   /\ appends' = t.appends
                                                   /\ serving' = t.serving
                                                   /\ active' = t.active
                                                   /\ failing' = t.failing
                                                   /\ log' = t.log
                                                   /\ committed' = t.committed
                                                   /\ maxSize' = t.maxSize
                                                   /\ forgottenJoin' = t.forgottenJoin
                                                   /\ answers' = t.answers
                                                   /\ rules' = t.rules
                                         ELSE /\ \E t \in Outcomes((LeaveFrom(Applied(IF LeavesTogether THEN "leave/together" ELSE "leave/batch"),
                                                                              r.members, <<>>, 1)), 0):
                                                   /\ group' = t.group
                                                   /\ holding' = t.holding
                                                   /\ appends' = t.appends
                                                   /\ serving' = t.serving
                                                   /\ active' = t.active
                                                   /\ failing' = t.failing
                                                   /\ log' = t.log
                                                   /\ committed' = t.committed
                                                   /\ maxSize' = t.maxSize
                                                   /\ forgottenJoin' = t.forgottenJoin
                                                   /\ answers' = t.answers
                                                   /\ rules' = t.rules

OffsetCommit == \E r \in OffsetCommitRequests(group):
                  IF r.noPartitions
                     THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "commit/no-partitions"), (ErrorAnswer(This, "NONE")))}), 0):
                               /\ group' = t.group
                               /\ holding' = t.holding
                               /\ appends' = t.appends
                               /\ serving' = t.serving
                               /\ active' = t.active
                               /\ failing' = t.failing
                               /\ log' = t.log
                               /\ committed' = t.committed
                               /\ maxSize' = t.maxSize
                               /\ forgottenJoin' = t.forgottenJoin
                               /\ answers' = t.answers
                               /\ rules' = t.rules
                     ELSE /\ IF IsRefused
                                THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, (ByReason("commit/not-active", "commit/loading", "commit/not-coordinator"))), (ErrorAnswer(This, Refused)))}), 0):
                                          /\ group' = t.group
                                          /\ holding' = t.holding
                                          /\ appends' = t.appends
                                          /\ serving' = t.serving
                                          /\ active' = t.active
                                          /\ failing' = t.failing
                                          /\ log' = t.log
                                          /\ committed' = t.committed
                                          /\ maxSize' = t.maxSize
                                          /\ forgottenJoin' = t.forgottenJoin
                                          /\ answers' = t.answers
                                          /\ rules' = t.rules
                                ELSE /\ IF IsDead(group) /\ r.generation < 0
                                           THEN /\ \E t \in Outcomes((StoreOffsets(GroupOfOffsets(Applied("commit/simple-no-group")), r)), 0):
                                                     /\ group' = t.group
                                                     /\ holding' = t.holding
                                                     /\ appends' = t.appends
                                                     /\ serving' = t.serving
                                                     /\ active' = t.active
                                                     /\ failing' = t.failing
                                                     /\ log' = t.log
                                                     /\ committed' = t.committed
                                                     /\ maxSize' = t.maxSize
                                                     /\ forgottenJoin' = t.forgottenJoin
                                                     /\ answers' = t.answers
                                                     /\ rules' = t.rules
                                           ELSE /\ IF IsDead(group) /\ ReturnsNotFound
                                                      THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "commit/not-found"), (ErrorAnswer(This, "GROUP_ID_NOT_FOUND")))}), 0):
                                                                /\ group' = t.group
                                                                /\ holding' = t.holding
                                                                /\ appends' = t.appends
                                                                /\ serving' = t.serving
                                                                /\ active' = t.active
                                                                /\ failing' = t.failing
                                                                /\ log' = t.log
                                                                /\ committed' = t.committed
                                                                /\ maxSize' = t.maxSize
                                                                /\ forgottenJoin' = t.forgottenJoin
                                                                /\ answers' = t.answers
                                                                /\ rules' = t.rules
                                                      ELSE /\ IF IsDead(group)
                                                                 THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "commit/no-group"), (ErrorAnswer(This, "ILLEGAL_GENERATION")))}), 0):
                                                                           /\ group' = t.group
                                                                           /\ holding' = t.holding
                                                                           /\ appends' = t.appends
                                                                           /\ serving' = t.serving
                                                                           /\ active' = t.active
                                                                           /\ failing' = t.failing
                                                                           /\ log' = t.log
                                                                           /\ committed' = t.committed
                                                                           /\ maxSize' = t.maxSize
                                                                           /\ forgottenJoin' = t.forgottenJoin
                                                                           /\ answers' = t.answers
                                                                           /\ rules' = t.rules
                                                                 ELSE /\ IF IsFenced(group, r)
                                                                            THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "commit/fenced"), (ErrorAnswer(This, "FENCED_INSTANCE_ID")))}), 0):
                                                                                      /\ group' = t.group
                                                                                      /\ holding' = t.holding
                                                                                      /\ appends' = t.appends
                                                                                      /\ serving' = t.serving
                                                                                      /\ active' = t.active
                                                                                      /\ failing' = t.failing
                                                                                      /\ log' = t.log
                                                                                      /\ committed' = t.committed
                                                                                      /\ maxSize' = t.maxSize
                                                                                      /\ forgottenJoin' = t.forgottenJoin
                                                                                      /\ answers' = t.answers
                                                                                      /\ rules' = t.rules
                                                                            ELSE /\ IF group.state = "Empty" /\ r.generation < 0
                                                                                       THEN /\ \E t \in Outcomes((StoreOffsets(Applied("commit/simple-empty"), r)), 0):
                                                                                                 /\ group' = t.group
                                                                                                 /\ holding' = t.holding
                                                                                                 /\ appends' = t.appends
                                                                                                 /\ serving' = t.serving
                                                                                                 /\ active' = t.active
                                                                                                 /\ failing' = t.failing
                                                                                                 /\ log' = t.log
                                                                                                 /\ committed' = t.committed
                                                                                                 /\ maxSize' = t.maxSize
                                                                                                 /\ forgottenJoin' = t.forgottenJoin
                                                                                                 /\ answers' = t.answers
                                                                                                 /\ rules' = t.rules
                                                                                       ELSE /\ IF IsUnknownInstance(group, r)
                                                                                                  THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "commit/unknown-instance"), (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                                                            /\ group' = t.group
                                                                                                            /\ holding' = t.holding
                                                                                                            /\ appends' = t.appends
                                                                                                            /\ serving' = t.serving
                                                                                                            /\ active' = t.active
                                                                                                            /\ failing' = t.failing
                                                                                                            /\ log' = t.log
                                                                                                            /\ committed' = t.committed
                                                                                                            /\ maxSize' = t.maxSize
                                                                                                            /\ forgottenJoin' = t.forgottenJoin
                                                                                                            /\ answers' = t.answers
                                                                                                            /\ rules' = t.rules
                                                                                                  ELSE /\ IF CompletingCheckedFirst /\ group.state = "CompletingRebalance"
                                                                                                             THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "commit/completing"), (ErrorAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                                                       /\ group' = t.group
                                                                                                                       /\ holding' = t.holding
                                                                                                                       /\ appends' = t.appends
                                                                                                                       /\ serving' = t.serving
                                                                                                                       /\ active' = t.active
                                                                                                                       /\ failing' = t.failing
                                                                                                                       /\ log' = t.log
                                                                                                                       /\ committed' = t.committed
                                                                                                                       /\ maxSize' = t.maxSize
                                                                                                                       /\ forgottenJoin' = t.forgottenJoin
                                                                                                                       /\ answers' = t.answers
                                                                                                                       /\ rules' = t.rules
                                                                                                             ELSE /\ IF OnlyMembersCommit /\ r.generation < 0 /\ r.memberId = NoMember
                                                                                                                        THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "commit/simple-in-use"), (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                                                                                  /\ group' = t.group
                                                                                                                                  /\ holding' = t.holding
                                                                                                                                  /\ appends' = t.appends
                                                                                                                                  /\ serving' = t.serving
                                                                                                                                  /\ active' = t.active
                                                                                                                                  /\ failing' = t.failing
                                                                                                                                  /\ log' = t.log
                                                                                                                                  /\ committed' = t.committed
                                                                                                                                  /\ maxSize' = t.maxSize
                                                                                                                                  /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                  /\ answers' = t.answers
                                                                                                                                  /\ rules' = t.rules
                                                                                                                        ELSE /\ IF r.memberId \notin DOMAIN group.members
                                                                                                                                   THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "commit/unknown-member"), (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                                                                                             /\ group' = t.group
                                                                                                                                             /\ holding' = t.holding
                                                                                                                                             /\ appends' = t.appends
                                                                                                                                             /\ serving' = t.serving
                                                                                                                                             /\ active' = t.active
                                                                                                                                             /\ failing' = t.failing
                                                                                                                                             /\ log' = t.log
                                                                                                                                             /\ committed' = t.committed
                                                                                                                                             /\ maxSize' = t.maxSize
                                                                                                                                             /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                             /\ answers' = t.answers
                                                                                                                                             /\ rules' = t.rules
                                                                                                                                   ELSE /\ IF r.generation # group.generation
                                                                                                                                              THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "commit/other-generation"), (ErrorAnswer(This, "ILLEGAL_GENERATION")))}), 0):
                                                                                                                                                        /\ group' = t.group
                                                                                                                                                        /\ holding' = t.holding
                                                                                                                                                        /\ appends' = t.appends
                                                                                                                                                        /\ serving' = t.serving
                                                                                                                                                        /\ active' = t.active
                                                                                                                                                        /\ failing' = t.failing
                                                                                                                                                        /\ log' = t.log
                                                                                                                                                        /\ committed' = t.committed
                                                                                                                                                        /\ maxSize' = t.maxSize
                                                                                                                                                        /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                                        /\ answers' = t.answers
                                                                                                                                                        /\ rules' = t.rules
                                                                                                                                              ELSE /\ IF group.state = "CompletingRebalance"
                                                                                                                                                         THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "commit/completing"), (ErrorAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                                                                                                   /\ group' = t.group
                                                                                                                                                                   /\ holding' = t.holding
                                                                                                                                                                   /\ appends' = t.appends
                                                                                                                                                                   /\ serving' = t.serving
                                                                                                                                                                   /\ active' = t.active
                                                                                                                                                                   /\ failing' = t.failing
                                                                                                                                                                   /\ log' = t.log
                                                                                                                                                                   /\ committed' = t.committed
                                                                                                                                                                   /\ maxSize' = t.maxSize
                                                                                                                                                                   /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                                                   /\ answers' = t.answers
                                                                                                                                                                   /\ rules' = t.rules
                                                                                                                                                         ELSE /\ \E t \in Outcomes((StoreOffsets(RestartSession(Applied("commit/member"), r.memberId), r)), 0):
                                                                                                                                                                   /\ group' = t.group
                                                                                                                                                                   /\ holding' = t.holding
                                                                                                                                                                   /\ appends' = t.appends
                                                                                                                                                                   /\ serving' = t.serving
                                                                                                                                                                   /\ active' = t.active
                                                                                                                                                                   /\ failing' = t.failing
                                                                                                                                                                   /\ log' = t.log
                                                                                                                                                                   /\ committed' = t.committed
                                                                                                                                                                   /\ maxSize' = t.maxSize
                                                                                                                                                                   /\ forgottenJoin' = t.forgottenJoin
                                                                                                                                                                   /\ answers' = t.answers
                                                                                                                                                                   /\ rules' = t.rules

OffsetFetch == \E r \in OffsetFetchRequests(group):
                 IF IsRefused
                    THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, (ByReason("fetch/not-active", "fetch/loading", "fetch/not-coordinator"))), ([to |-> This, error |-> Refused, offset |-> -1]))}), 0):
                              /\ group' = t.group
                              /\ holding' = t.holding
                              /\ appends' = t.appends
                              /\ serving' = t.serving
                              /\ active' = t.active
                              /\ failing' = t.failing
                              /\ log' = t.log
                              /\ committed' = t.committed
                              /\ maxSize' = t.maxSize
                              /\ forgottenJoin' = t.forgottenJoin
                              /\ answers' = t.answers
                              /\ rules' = t.rules
                    ELSE /\ \E t \in Outcomes((Fetched(Begin, r)), 0):
                              /\ group' = t.group
                              /\ holding' = t.holding
                              /\ appends' = t.appends
                              /\ serving' = t.serving
                              /\ active' = t.active
                              /\ failing' = t.failing
                              /\ log' = t.log
                              /\ committed' = t.committed
                              /\ maxSize' = t.maxSize
                              /\ forgottenJoin' = t.forgottenJoin
                              /\ answers' = t.answers
                              /\ rules' = t.rules

DescribeGroups == IF IsRefused
                     THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, (ByReason("describe/not-active", "describe/loading", "describe/not-coordinator"))), (NotDescribed(Refused)))}), 0):
                               /\ group' = t.group
                               /\ holding' = t.holding
                               /\ appends' = t.appends
                               /\ serving' = t.serving
                               /\ active' = t.active
                               /\ failing' = t.failing
                               /\ log' = t.log
                               /\ committed' = t.committed
                               /\ maxSize' = t.maxSize
                               /\ forgottenJoin' = t.forgottenJoin
                               /\ answers' = t.answers
                               /\ rules' = t.rules
                     ELSE /\ \E t \in Outcomes((ReadsCommitted(Begin, Described)), 0):
                               /\ group' = t.group
                               /\ holding' = t.holding
                               /\ appends' = t.appends
                               /\ serving' = t.serving
                               /\ active' = t.active
                               /\ failing' = t.failing
                               /\ log' = t.log
                               /\ committed' = t.committed
                               /\ maxSize' = t.maxSize
                               /\ forgottenJoin' = t.forgottenJoin
                               /\ answers' = t.answers
                               /\ rules' = t.rules

TxnOffsetCommit == \E r \in TxnOffsetCommitRequests(group):
                     LET s == CreatedByCommit(Begin) IN
                       IF r.noPartitions
                          THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "txn-commit/no-partitions"), (ErrorAnswer(This, "NONE")))}), 0):
                                    /\ group' = t.group
                                    /\ holding' = t.holding
                                    /\ appends' = t.appends
                                    /\ serving' = t.serving
                                    /\ active' = t.active
                                    /\ failing' = t.failing
                                    /\ log' = t.log
                                    /\ committed' = t.committed
                                    /\ maxSize' = t.maxSize
                                    /\ forgottenJoin' = t.forgottenJoin
                                    /\ answers' = t.answers
                                    /\ rules' = t.rules
                          ELSE /\ IF IsEmptyGroupId(r)
                                     THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "txn-commit/invalid-group-id"), (ErrorAnswer(This, "INVALID_GROUP_ID")))}), 0):
                                               /\ group' = t.group
                                               /\ holding' = t.holding
                                               /\ appends' = t.appends
                                               /\ serving' = t.serving
                                               /\ active' = t.active
                                               /\ failing' = t.failing
                                               /\ log' = t.log
                                               /\ committed' = t.committed
                                               /\ maxSize' = t.maxSize
                                               /\ forgottenJoin' = t.forgottenJoin
                                               /\ answers' = t.answers
                                               /\ rules' = t.rules
                                     ELSE /\ IF IsRefused
                                                THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, (ByReason("txn-commit/not-active", "txn-commit/loading", "txn-commit/not-coordinator"))), (ErrorAnswer(This, Refused)))}), 0):
                                                          /\ group' = t.group
                                                          /\ holding' = t.holding
                                                          /\ appends' = t.appends
                                                          /\ serving' = t.serving
                                                          /\ active' = t.active
                                                          /\ failing' = t.failing
                                                          /\ log' = t.log
                                                          /\ committed' = t.committed
                                                          /\ maxSize' = t.maxSize
                                                          /\ forgottenJoin' = t.forgottenJoin
                                                          /\ answers' = t.answers
                                                          /\ rules' = t.rules
                                                ELSE /\ IF TxnChecksMembers /\ IsDead(group) /\ r.generation >= 0
                                                           THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "txn-commit/no-group"), (ErrorAnswer(This, "ILLEGAL_GENERATION")))}), 0):
                                                                     /\ group' = t.group
                                                                     /\ holding' = t.holding
                                                                     /\ appends' = t.appends
                                                                     /\ serving' = t.serving
                                                                     /\ active' = t.active
                                                                     /\ failing' = t.failing
                                                                     /\ log' = t.log
                                                                     /\ committed' = t.committed
                                                                     /\ maxSize' = t.maxSize
                                                                     /\ forgottenJoin' = t.forgottenJoin
                                                                     /\ answers' = t.answers
                                                                     /\ rules' = t.rules
                                                           ELSE /\ IF TxnChecksMembers /\ s.group.state = "Empty" /\ r.generation < 0
                                                                      THEN /\ \E t \in Outcomes((StoreTransaction(Apply(s, "txn-commit/simple"), r)), 0):
                                                                                /\ group' = t.group
                                                                                /\ holding' = t.holding
                                                                                /\ appends' = t.appends
                                                                                /\ serving' = t.serving
                                                                                /\ active' = t.active
                                                                                /\ failing' = t.failing
                                                                                /\ log' = t.log
                                                                                /\ committed' = t.committed
                                                                                /\ maxSize' = t.maxSize
                                                                                /\ forgottenJoin' = t.forgottenJoin
                                                                                /\ answers' = t.answers
                                                                                /\ rules' = t.rules
                                                                      ELSE /\ IF IsUnknownInstance(s.group, r)
                                                                                 THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "txn-commit/unknown-instance"), (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                                           /\ group' = t.group
                                                                                           /\ holding' = t.holding
                                                                                           /\ appends' = t.appends
                                                                                           /\ serving' = t.serving
                                                                                           /\ active' = t.active
                                                                                           /\ failing' = t.failing
                                                                                           /\ log' = t.log
                                                                                           /\ committed' = t.committed
                                                                                           /\ maxSize' = t.maxSize
                                                                                           /\ forgottenJoin' = t.forgottenJoin
                                                                                           /\ answers' = t.answers
                                                                                           /\ rules' = t.rules
                                                                                 ELSE /\ IF IsFenced(s.group, r)
                                                                                            THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "txn-commit/fenced"), (ErrorAnswer(This, "FENCED_INSTANCE_ID")))}), 0):
                                                                                                      /\ group' = t.group
                                                                                                      /\ holding' = t.holding
                                                                                                      /\ appends' = t.appends
                                                                                                      /\ serving' = t.serving
                                                                                                      /\ active' = t.active
                                                                                                      /\ failing' = t.failing
                                                                                                      /\ log' = t.log
                                                                                                      /\ committed' = t.committed
                                                                                                      /\ maxSize' = t.maxSize
                                                                                                      /\ forgottenJoin' = t.forgottenJoin
                                                                                                      /\ answers' = t.answers
                                                                                                      /\ rules' = t.rules
                                                                                            ELSE /\ IF NamesMember(r) /\ r.memberId \notin DOMAIN s.group.members
                                                                                                       THEN /\ \E t \in Outcomes(({Answer(Apply(s, "txn-commit/unknown-member"),
                                                                                                                                          ErrorAnswer(This, "UNKNOWN_MEMBER_ID"))}), 0):
                                                                                                                 /\ group' = t.group
                                                                                                                 /\ holding' = t.holding
                                                                                                                 /\ appends' = t.appends
                                                                                                                 /\ serving' = t.serving
                                                                                                                 /\ active' = t.active
                                                                                                                 /\ failing' = t.failing
                                                                                                                 /\ log' = t.log
                                                                                                                 /\ committed' = t.committed
                                                                                                                 /\ maxSize' = t.maxSize
                                                                                                                 /\ forgottenJoin' = t.forgottenJoin
                                                                                                                 /\ answers' = t.answers
                                                                                                                 /\ rules' = t.rules
                                                                                                       ELSE /\ IF NamesGeneration(r) /\ r.generation # s.group.generation
                                                                                                                  THEN /\ \E t \in Outcomes(({Answer(Apply(s, "txn-commit/other-generation"),
                                                                                                                                                     ErrorAnswer(This, "ILLEGAL_GENERATION"))}), 0):
                                                                                                                            /\ group' = t.group
                                                                                                                            /\ holding' = t.holding
                                                                                                                            /\ appends' = t.appends
                                                                                                                            /\ serving' = t.serving
                                                                                                                            /\ active' = t.active
                                                                                                                            /\ failing' = t.failing
                                                                                                                            /\ log' = t.log
                                                                                                                            /\ committed' = t.committed
                                                                                                                            /\ maxSize' = t.maxSize
                                                                                                                            /\ forgottenJoin' = t.forgottenJoin
                                                                                                                            /\ answers' = t.answers
                                                                                                                            /\ rules' = t.rules
                                                                                                                  ELSE /\ \E t \in Outcomes((StoreTransaction(Apply(s, "txn-commit/pending"), r)), 0):
                                                                                                                            /\ group' = t.group
                                                                                                                            /\ holding' = t.holding
                                                                                                                            /\ appends' = t.appends
                                                                                                                            /\ serving' = t.serving
                                                                                                                            /\ active' = t.active
                                                                                                                            /\ failing' = t.failing
                                                                                                                            /\ log' = t.log
                                                                                                                            /\ committed' = t.committed
                                                                                                                            /\ maxSize' = t.maxSize
                                                                                                                            /\ forgottenJoin' = t.forgottenJoin
                                                                                                                            /\ answers' = t.answers
                                                                                                                            /\ rules' = t.rules

EndTxn == \E r \in EndTxnRequests(Begin):
            IF IsEmptyGroupId(r)
               THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "end-txn/invalid-group-id"), (ErrorAnswer(This, "INVALID_GROUP_ID")))}), 0):
                         /\ group' = t.group
                         /\ holding' = t.holding
                         /\ appends' = t.appends
                         /\ serving' = t.serving
                         /\ active' = t.active
                         /\ failing' = t.failing
                         /\ log' = t.log
                         /\ committed' = t.committed
                         /\ maxSize' = t.maxSize
                         /\ forgottenJoin' = t.forgottenJoin
                         /\ answers' = t.answers
                         /\ rules' = t.rules
               ELSE /\ IF WritesMarkers /\ IsRefused
                          THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, (ByReason("end-txn/not-active", "end-txn/loading", "end-txn/not-coordinator"))), (ErrorAnswer(This, "NOT_LEADER_OR_FOLLOWER")))}), 0):
                                    /\ group' = t.group
                                    /\ holding' = t.holding
                                    /\ appends' = t.appends
                                    /\ serving' = t.serving
                                    /\ active' = t.active
                                    /\ failing' = t.failing
                                    /\ log' = t.log
                                    /\ committed' = t.committed
                                    /\ maxSize' = t.maxSize
                                    /\ forgottenJoin' = t.forgottenJoin
                                    /\ answers' = t.answers
                                    /\ rules' = t.rules
                          ELSE /\ IF WritesMarkers /\ failing # NoError
                                     THEN /\ \E t \in Outcomes((MarkerFails(Applied("end-txn/not-written"))), 0):
                                               /\ group' = t.group
                                               /\ holding' = t.holding
                                               /\ appends' = t.appends
                                               /\ serving' = t.serving
                                               /\ active' = t.active
                                               /\ failing' = t.failing
                                               /\ log' = t.log
                                               /\ committed' = t.committed
                                               /\ maxSize' = t.maxSize
                                               /\ forgottenJoin' = t.forgottenJoin
                                               /\ answers' = t.answers
                                               /\ rules' = t.rules
                                     ELSE /\ IF ~active
                                                THEN /\ \E t \in Outcomes(({Answer(WriteMarker(Applied("end-txn/not-active"), r.committed),
                                                                                   ErrorAnswer(This, "UNKNOWN_SERVER_ERROR"))}), 0):
                                                          /\ group' = t.group
                                                          /\ holding' = t.holding
                                                          /\ appends' = t.appends
                                                          /\ serving' = t.serving
                                                          /\ active' = t.active
                                                          /\ failing' = t.failing
                                                          /\ log' = t.log
                                                          /\ committed' = t.committed
                                                          /\ maxSize' = t.maxSize
                                                          /\ forgottenJoin' = t.forgottenJoin
                                                          /\ answers' = t.answers
                                                          /\ rules' = t.rules
                                                ELSE /\ IF IsDead(group) \/ ~group.awaitsMarker
                                                           THEN /\ \E t \in Outcomes(({AnswerWhenCommitted(WriteMarker(Applied("end-txn/nothing-pending"), r.committed),
                                                                                                           "EndTxn", ErrorAnswer(This, "NONE"))}), 0):
                                                                     /\ group' = t.group
                                                                     /\ holding' = t.holding
                                                                     /\ appends' = t.appends
                                                                     /\ serving' = t.serving
                                                                     /\ active' = t.active
                                                                     /\ failing' = t.failing
                                                                     /\ log' = t.log
                                                                     /\ committed' = t.committed
                                                                     /\ maxSize' = t.maxSize
                                                                     /\ forgottenJoin' = t.forgottenJoin
                                                                     /\ answers' = t.answers
                                                                     /\ rules' = t.rules
                                                           ELSE /\ IF r.committed
                                                                      THEN /\ \E t \in Outcomes(({AnswerWhenCommitted(
                                                                                                    EndTransaction(WriteMarker(Applied("end-txn/committed"), TRUE), TRUE),
                                                                                                    "EndTxn", ErrorAnswer(This, "NONE"))}), 0):
                                                                                /\ group' = t.group
                                                                                /\ holding' = t.holding
                                                                                /\ appends' = t.appends
                                                                                /\ serving' = t.serving
                                                                                /\ active' = t.active
                                                                                /\ failing' = t.failing
                                                                                /\ log' = t.log
                                                                                /\ committed' = t.committed
                                                                                /\ maxSize' = t.maxSize
                                                                                /\ forgottenJoin' = t.forgottenJoin
                                                                                /\ answers' = t.answers
                                                                                /\ rules' = t.rules
                                                                      ELSE /\ \E t \in Outcomes(({AnswerWhenCommitted(
                                                                                                    EndTransaction(WriteMarker(Applied("end-txn/aborted"), FALSE), FALSE),
                                                                                                    "EndTxn", ErrorAnswer(This, "NONE"))}), 0):
                                                                                /\ group' = t.group
                                                                                /\ holding' = t.holding
                                                                                /\ appends' = t.appends
                                                                                /\ serving' = t.serving
                                                                                /\ active' = t.active
                                                                                /\ failing' = t.failing
                                                                                /\ log' = t.log
                                                                                /\ committed' = t.committed
                                                                                /\ maxSize' = t.maxSize
                                                                                /\ forgottenJoin' = t.forgottenJoin
                                                                                /\ answers' = t.answers
                                                                                /\ rules' = t.rules

ListGroups == \E r \in ListGroupsRequests:
                IF ~active
                   THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "list/not-active"), ([to |-> This, error |-> Refused, groups |-> {}]))}), 0):
                             /\ group' = t.group
                             /\ holding' = t.holding
                             /\ appends' = t.appends
                             /\ serving' = t.serving
                             /\ active' = t.active
                             /\ failing' = t.failing
                             /\ log' = t.log
                             /\ committed' = t.committed
                             /\ maxSize' = t.maxSize
                             /\ forgottenJoin' = t.forgottenJoin
                             /\ answers' = t.answers
                             /\ rules' = t.rules
                   ELSE /\ IF serving = "loading"
                              THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "list/loading"), ([to |-> This, error |-> "COORDINATOR_LOAD_IN_PROGRESS", groups |-> {}]))}), 0):
                                        /\ group' = t.group
                                        /\ holding' = t.holding
                                        /\ appends' = t.appends
                                        /\ serving' = t.serving
                                        /\ active' = t.active
                                        /\ failing' = t.failing
                                        /\ log' = t.log
                                        /\ committed' = t.committed
                                        /\ maxSize' = t.maxSize
                                        /\ forgottenJoin' = t.forgottenJoin
                                        /\ answers' = t.answers
                                        /\ rules' = t.rules
                              ELSE /\ \E t \in Outcomes((ReadList(Begin, r)), 0):
                                        /\ group' = t.group
                                        /\ holding' = t.holding
                                        /\ appends' = t.appends
                                        /\ serving' = t.serving
                                        /\ active' = t.active
                                        /\ failing' = t.failing
                                        /\ log' = t.log
                                        /\ committed' = t.committed
                                        /\ maxSize' = t.maxSize
                                        /\ forgottenJoin' = t.forgottenJoin
                                        /\ answers' = t.answers
                                        /\ rules' = t.rules

DeleteGroups == /\ Administered /\ DeletesGroups
                /\ IF IsRefused
                      THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, (ByReason("delete/not-active", "delete/loading", "delete/not-coordinator"))), (DeleteAnswer("NONE", {Refused})))}), 0):
                                /\ group' = t.group
                                /\ holding' = t.holding
                                /\ appends' = t.appends
                                /\ serving' = t.serving
                                /\ active' = t.active
                                /\ failing' = t.failing
                                /\ log' = t.log
                                /\ committed' = t.committed
                                /\ maxSize' = t.maxSize
                                /\ forgottenJoin' = t.forgottenJoin
                                /\ answers' = t.answers
                                /\ rules' = t.rules
                      ELSE /\ IF committed # AllCommitted
                                 THEN /\ \E t \in Outcomes(({[Applied("delete/waits") EXCEPT
                                                                !.appends = Append(@, [NoAppend EXCEPT !.kind = "deletion"])]}), 0):
                                           /\ group' = t.group
                                           /\ holding' = t.holding
                                           /\ appends' = t.appends
                                           /\ serving' = t.serving
                                           /\ active' = t.active
                                           /\ failing' = t.failing
                                           /\ log' = t.log
                                           /\ committed' = t.committed
                                           /\ maxSize' = t.maxSize
                                           /\ forgottenJoin' = t.forgottenJoin
                                           /\ answers' = t.answers
                                           /\ rules' = t.rules
                                 ELSE /\ \E t \in Outcomes((Delete(Begin, This)), 0):
                                           /\ group' = t.group
                                           /\ holding' = t.holding
                                           /\ appends' = t.appends
                                           /\ serving' = t.serving
                                           /\ active' = t.active
                                           /\ failing' = t.failing
                                           /\ log' = t.log
                                           /\ committed' = t.committed
                                           /\ maxSize' = t.maxSize
                                           /\ forgottenJoin' = t.forgottenJoin
                                           /\ answers' = t.answers
                                           /\ rules' = t.rules

OffsetDelete == \E r \in OffsetDeleteRequests(group):
                  IF IsEmptyGroupId(r)
                     THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "offset-delete/invalid-group-id"), (OffsetDeleteAnswer("INVALID_GROUP_ID", {})))}), 0):
                               /\ group' = t.group
                               /\ holding' = t.holding
                               /\ appends' = t.appends
                               /\ serving' = t.serving
                               /\ active' = t.active
                               /\ failing' = t.failing
                               /\ log' = t.log
                               /\ committed' = t.committed
                               /\ maxSize' = t.maxSize
                               /\ forgottenJoin' = t.forgottenJoin
                               /\ answers' = t.answers
                               /\ rules' = t.rules
                     ELSE /\ IF IsRefused
                                THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, (ByReason("offset-delete/not-active", "offset-delete/loading",
                                                                                     "offset-delete/not-coordinator"))), (OffsetDeleteAnswer(Refused, {})))}), 0):
                                          /\ group' = t.group
                                          /\ holding' = t.holding
                                          /\ appends' = t.appends
                                          /\ serving' = t.serving
                                          /\ active' = t.active
                                          /\ failing' = t.failing
                                          /\ log' = t.log
                                          /\ committed' = t.committed
                                          /\ maxSize' = t.maxSize
                                          /\ forgottenJoin' = t.forgottenJoin
                                          /\ answers' = t.answers
                                          /\ rules' = t.rules
                                ELSE /\ IF IsDead(group)
                                           THEN /\ \E t \in Outcomes(({Answer(Apply(Begin, "offset-delete/no-group"), (OffsetDeleteAnswer("GROUP_ID_NOT_FOUND", {})))}), 0):
                                                     /\ group' = t.group
                                                     /\ holding' = t.holding
                                                     /\ appends' = t.appends
                                                     /\ serving' = t.serving
                                                     /\ active' = t.active
                                                     /\ failing' = t.failing
                                                     /\ log' = t.log
                                                     /\ committed' = t.committed
                                                     /\ maxSize' = t.maxSize
                                                     /\ forgottenJoin' = t.forgottenJoin
                                                     /\ answers' = t.answers
                                                     /\ rules' = t.rules
                                           ELSE /\ IF group.state = "Empty"
                                                      THEN /\ \E t \in Outcomes((OffsetDeleted(Applied("offset-delete/empty"), r.topic)), 0):
                                                                /\ group' = t.group
                                                                /\ holding' = t.holding
                                                                /\ appends' = t.appends
                                                                /\ serving' = t.serving
                                                                /\ active' = t.active
                                                                /\ failing' = t.failing
                                                                /\ log' = t.log
                                                                /\ committed' = t.committed
                                                                /\ maxSize' = t.maxSize
                                                                /\ forgottenJoin' = t.forgottenJoin
                                                                /\ answers' = t.answers
                                                                /\ rules' = t.rules
                                                      ELSE /\ IF group.protocolType = "consumer" /\ r.topic \in group.subscribed
                                                                 THEN /\ \E t \in Outcomes(({AnswerWhenCommitted(Applied("offset-delete/consumers"), "OffsetDelete",
                                                                                                   OffsetDeleteAnswer("NONE", {<<r.topic, "GROUP_SUBSCRIBED_TO_TOPIC">>}))}), 0):
                                                                           /\ group' = t.group
                                                                           /\ holding' = t.holding
                                                                           /\ appends' = t.appends
                                                                           /\ serving' = t.serving
                                                                           /\ active' = t.active
                                                                           /\ failing' = t.failing
                                                                           /\ log' = t.log
                                                                           /\ committed' = t.committed
                                                                           /\ maxSize' = t.maxSize
                                                                           /\ forgottenJoin' = t.forgottenJoin
                                                                           /\ answers' = t.answers
                                                                           /\ rules' = t.rules
                                                                 ELSE /\ IF group.protocolType = "consumer"
                                                                            THEN /\ \E t \in Outcomes((OffsetDeleted(Applied("offset-delete/consumers"), r.topic)), 0):
                                                                                      /\ group' = t.group
                                                                                      /\ holding' = t.holding
                                                                                      /\ appends' = t.appends
                                                                                      /\ serving' = t.serving
                                                                                      /\ active' = t.active
                                                                                      /\ failing' = t.failing
                                                                                      /\ log' = t.log
                                                                                      /\ committed' = t.committed
                                                                                      /\ maxSize' = t.maxSize
                                                                                      /\ forgottenJoin' = t.forgottenJoin
                                                                                      /\ answers' = t.answers
                                                                                      /\ rules' = t.rules
                                                                            ELSE /\ \E t \in Outcomes(({Answer(Apply(Begin, "offset-delete/not-consumers"), (OffsetDeleteAnswer("NON_EMPTY_GROUP", {})))}), 0):
                                                                                      /\ group' = t.group
                                                                                      /\ holding' = t.holding
                                                                                      /\ appends' = t.appends
                                                                                      /\ serving' = t.serving
                                                                                      /\ active' = t.active
                                                                                      /\ failing' = t.failing
                                                                                      /\ log' = t.log
                                                                                      /\ committed' = t.committed
                                                                                      /\ maxSize' = t.maxSize
                                                                                      /\ forgottenJoin' = t.forgottenJoin
                                                                                      /\ answers' = t.answers
                                                                                      /\ rules' = t.rules

Advance == IF Timed
              THEN /\ \E t \in Outcomes(({Applied("time/pass")}), 1):
                        /\ group' = t.group
                        /\ holding' = t.holding
                        /\ appends' = t.appends
                        /\ serving' = t.serving
                        /\ active' = t.active
                        /\ failing' = t.failing
                        /\ log' = t.log
                        /\ committed' = t.committed
                        /\ maxSize' = t.maxSize
                        /\ forgottenJoin' = t.forgottenJoin
                        /\ answers' = t.answers
                        /\ rules' = t.rules
              ELSE /\ group # NoGroup /\ group.joinTimer.initial
                   /\ \E t \in Outcomes(({Applied("time/pass")}), (group.joinTimer.left)):
                        /\ group' = t.group
                        /\ holding' = t.holding
                        /\ appends' = t.appends
                        /\ serving' = t.serving
                        /\ active' = t.active
                        /\ failing' = t.failing
                        /\ log' = t.log
                        /\ committed' = t.committed
                        /\ maxSize' = t.maxSize
                        /\ forgottenJoin' = t.forgottenJoin
                        /\ answers' = t.answers
                        /\ rules' = t.rules

Cleanup == /\ Expires
           /\ \E t \in Outcomes((CleanUp(Begin)), 0):
                /\ group' = t.group
                /\ holding' = t.holding
                /\ appends' = t.appends
                /\ serving' = t.serving
                /\ active' = t.active
                /\ failing' = t.failing
                /\ log' = t.log
                /\ committed' = t.committed
                /\ maxSize' = t.maxSize
                /\ forgottenJoin' = t.forgottenJoin
                /\ answers' = t.answers
                /\ rules' = t.rules

HoldAppends == /\ MaxHeld > 0 /\ ~holding
               /\ \E t \in Outcomes(({[Applied("log/hold") EXCEPT !.holding = TRUE]}), 0):
                    /\ group' = t.group
                    /\ holding' = t.holding
                    /\ appends' = t.appends
                    /\ serving' = t.serving
                    /\ active' = t.active
                    /\ failing' = t.failing
                    /\ log' = t.log
                    /\ committed' = t.committed
                    /\ maxSize' = t.maxSize
                    /\ forgottenJoin' = t.forgottenJoin
                    /\ answers' = t.answers
                    /\ rules' = t.rules

ReleaseAppends == /\ holding
                  /\ \E t \in Outcomes((Release(Applied("log/release"))), 0):
                       /\ group' = t.group
                       /\ holding' = t.holding
                       /\ appends' = t.appends
                       /\ serving' = t.serving
                       /\ active' = t.active
                       /\ failing' = t.failing
                       /\ log' = t.log
                       /\ committed' = t.committed
                       /\ maxSize' = t.maxSize
                       /\ forgottenJoin' = t.forgottenJoin
                       /\ answers' = t.answers
                       /\ rules' = t.rules

FailAppends == /\ Fails /\ failing = NoError
               /\ \E error \in AppendErrors:
                    \E t \in Outcomes(({[Applied("log/fail") EXCEPT !.failing = error]}), 0):
                      /\ group' = t.group
                      /\ holding' = t.holding
                      /\ appends' = t.appends
                      /\ serving' = t.serving
                      /\ active' = t.active
                      /\ failing' = t.failing
                      /\ log' = t.log
                      /\ committed' = t.committed
                      /\ maxSize' = t.maxSize
                      /\ forgottenJoin' = t.forgottenJoin
                      /\ answers' = t.answers
                      /\ rules' = t.rules

Crash == /\ Logged
         /\ \E t \in Outcomes((Crashed(Applied("failover/crash"))), 0):
              /\ group' = t.group
              /\ holding' = t.holding
              /\ appends' = t.appends
              /\ serving' = t.serving
              /\ active' = t.active
              /\ failing' = t.failing
              /\ log' = t.log
              /\ committed' = t.committed
              /\ maxSize' = t.maxSize
              /\ forgottenJoin' = t.forgottenJoin
              /\ answers' = t.answers
              /\ rules' = t.rules

Unload == /\ Moves /\ ~(active /\ serving = "unloaded")
          /\ \E t \in Outcomes((Moved({Unloaded(Applied("failover/unload"))})), 0):
               /\ group' = t.group
               /\ holding' = t.holding
               /\ appends' = t.appends
               /\ serving' = t.serving
               /\ active' = t.active
               /\ failing' = t.failing
               /\ log' = t.log
               /\ committed' = t.committed
               /\ maxSize' = t.maxSize
               /\ forgottenJoin' = t.forgottenJoin
               /\ answers' = t.answers
               /\ rules' = t.rules

Loading == /\ Moves /\ ~(active /\ serving = "loading")
           /\ \E t \in Outcomes((Moved({[Unloaded(Applied("failover/loading")) EXCEPT !.serving = "loading"]})), 0):
                /\ group' = t.group
                /\ holding' = t.holding
                /\ appends' = t.appends
                /\ serving' = t.serving
                /\ active' = t.active
                /\ failing' = t.failing
                /\ log' = t.log
                /\ committed' = t.committed
                /\ maxSize' = t.maxSize
                /\ forgottenJoin' = t.forgottenJoin
                /\ answers' = t.answers
                /\ rules' = t.rules

Load == /\ Moves /\ ~(active /\ serving = "served")
        /\ \E t \in Outcomes((Moved(Loaded(Applied("failover/load")))), 0):
             /\ group' = t.group
             /\ holding' = t.holding
             /\ appends' = t.appends
             /\ serving' = t.serving
             /\ active' = t.active
             /\ failing' = t.failing
             /\ log' = t.log
             /\ committed' = t.committed
             /\ maxSize' = t.maxSize
             /\ forgottenJoin' = t.forgottenJoin
             /\ answers' = t.answers
             /\ rules' = t.rules

Configure == /\ Resizes /\ serving # "served"
             /\ \E size \in {1, 2}:
                  \E t \in Outcomes(({[Applied("failover/configured") EXCEPT !.maxSize = size]}), 0):
                    /\ group' = t.group
                    /\ holding' = t.holding
                    /\ appends' = t.appends
                    /\ serving' = t.serving
                    /\ active' = t.active
                    /\ failing' = t.failing
                    /\ log' = t.log
                    /\ committed' = t.committed
                    /\ maxSize' = t.maxSize
                    /\ forgottenJoin' = t.forgottenJoin
                    /\ answers' = t.answers
                    /\ rules' = t.rules

Shutdown == /\ Moves /\ active
            /\ \E t \in Outcomes(({ShutDown(Applied("failover/shutdown"))}), 0):
                 /\ group' = t.group
                 /\ holding' = t.holding
                 /\ appends' = t.appends
                 /\ serving' = t.serving
                 /\ active' = t.active
                 /\ failing' = t.failing
                 /\ log' = t.log
                 /\ committed' = t.committed
                 /\ maxSize' = t.maxSize
                 /\ forgottenJoin' = t.forgottenJoin
                 /\ answers' = t.answers
                 /\ rules' = t.rules

Next == JoinGroup \/ SyncGroup \/ Heartbeat \/ LeaveGroup \/ OffsetCommit
           \/ OffsetFetch \/ DescribeGroups \/ TxnOffsetCommit \/ EndTxn
           \/ ListGroups \/ DeleteGroups \/ OffsetDelete \/ Advance \/ Cleanup
           \/ HoldAppends \/ ReleaseAppends \/ FailAppends \/ Crash \/ Unload
           \/ Loading \/ Load \/ Configure \/ Shutdown

Spec == Init /\ [][Next]_vars

\* END TRANSLATION - the hash of the generated TLA code (remove to silence divergence warnings): TLA-3a2c6b8bb4321a8601fa984cb59ae089

\* Every state with the responses and the rules of each step to it, if Observed. They are cleared
\* before the next step, so that TLC takes the steps of each state only once.
Observation == \/ rules = {} /\ Next
               \/ /\ rules # {} /\ UNCHANGED State
                  /\ rules' = {} /\ answers' = {}
ObservedSpec == Init /\ [][Observation]_vars

\* The invariants of docs/properties.md, by their names there, in capitals. They say what Kafka
\* promises, and use no operator of the rules. A version that breaks one leaves it out of its
\* configuration (tests/support/tla.py).
Exists         == group # NoGroup
Has(n, name)   == \E i \in DOMAIN group.members[n].protocols :
                    group.members[n].protocols[i].name = name
InGeneration   == Exists /\ group.state \in {"CompletingRebalance", "Stable"}
Rejoins(n)     == /\ group.state = "Stable" /\ group.members[n].instance # NoInstance
                  /\ group.members[n].awaitingJoin
WithoutMembers == Exists /\ group.state \in {"Empty", "Dead"}

Leader ==
  LET leads == Exists /\ group.leader \in DOMAIN group.members
  IN /\ WithoutMembers => group.leader = NoMember /\ DOMAIN group.members = {}
     /\ Exists /\ group.state = "PreparingRebalance" => (leads <=> DOMAIN group.members # {})
     /\ InGeneration =>
          leads /\ (~group.members[group.leader].awaitingJoin \/ Rejoins(group.leader))

ProtocolSupported == InGeneration => \A n \in DOMAIN group.members : Has(n, group.protocolName)

ProtocolVoted ==
  LET offered(n) == group.members[n].protocols
      common(n)  == {i \in DOMAIN offered(n) :
                       \A other \in DOMAIN group.members : Has(other, offered(n)[i].name)}
      vote(n)    == IF common(n) = {} THEN Null
                    ELSE offered(n)[CHOOSE i \in common(n) : \A j \in common(n) : i =< j].name
      votes(name) == Cardinality({n \in DOMAIN group.members : vote(n) = name})
  IN InGeneration =>
       \A n \in DOMAIN group.members : votes(vote(n)) =< votes(group.protocolName)

InstanceIdsOfMembers ==
  Exists => {<<i, group.statics[i]>> : i \in DOMAIN group.statics} =
            {<<group.members[n].instance, n>> :
               n \in {k \in DOMAIN group.members : group.members[k].instance # NoInstance}}

AssignedOnlyInStable ==
  Exists /\ group.state # "Stable" =>
    \A n \in DOMAIN group.members : group.members[n].assignment = ""

WaitingDoesNotExpire ==
  Exists => \A n \in DOMAIN group.members :
    LET m == group.members[n]
    IN ~m.isNew /\ (m.awaitingJoin \/ m.awaitingSync) /\ ~Rejoins(n) => m.sessionLeft = Stopped

JoinPhaseEndsAtOnce ==
  Exists /\ group.state = "PreparingRebalance" /\ ~group.joinTimer.initial =>
    \/ DOMAIN group.pending # {}
    \/ \E n \in DOMAIN group.members : ~group.members[n].awaitingJoin

NoRebalanceWithoutMembers == Exists /\ DOMAIN group.members = {} => WithoutMembers

NoOrphanedTimers == Exists => DOMAIN group.orphanedTimers = {}

SyncAwaitedOfMembers == Exists => ~group.lostSync

\* The action properties of docs/properties.md, by their names there, in capitals. They say what
\* Kafka promises, over variables with and without a prime, and use no operator of the rules. The
\* name of a process, such as Cleanup, stands for its steps: the pairs of states that it allows.
\* As in Python, only the properties of the log, which come last, are checked on a step in which the
\* partition fails over.
\* TLC checks [][A]_vars on every transition that it generates, also on one to a known state, and on
\* one that changes only the responses. If it changes nothing at all, it is no step in TLA+.
\* Of the states that are the same under the VIEW TLC takes the steps of one, with its `answers` and
\* `rules`. A property therefore reads these two with a prime only.
GroupBefore   == IF Exists THEN group ELSE NewGroup
GroupAfter    == GroupBefore'
MembersBefore == DOMAIN GroupBefore.members
MembersAfter  == DOMAIN GroupAfter.members
NoneBefore    == ~Exists \/ GroupBefore.state = "Dead"
FailsOver     == Crash \/ Unload \/ Loading \/ Load \/ Configure \/ Shutdown

\* Responses to the request of the step, sent or deferred. Their fields show the API.
Own      == {a \in answers' : a.to = This} \cup
            {appends'[i].answer : i \in {j \in DOMAIN appends' :
                                           j > Len(appends) /\ appends'[j].kind = "answer"}}
Simple   == {"to", "error"}  \* of Heartbeat, OffsetCommit, TxnOffsetCommit and EndTxn
\* Time passes. Such a step has no request that it could answer.
Passes   == (\A a \in answers' : a.to # This) /\ Advance
\* The responses that admit a member to a generation of the current group.
Admitted == {a \in answers' : "leader" \in DOMAIN a /\ a.error = "NONE" /\ a.to # Held}
\* A generation begins: the responses have its number, which a state has up to Generations.
Begins   == \E a \in Admitted : a.generation > GroupBefore.generation

\* The member after the step, perhaps with a new id. A new id may have the old name.
Successor(n) ==
  LET owned == {i \in DOMAIN GroupBefore.statics : GroupBefore.statics[i] = n}
      later == {GroupAfter.statics[i] : i \in owned \cap DOMAIN GroupAfter.statics}
  IN IF n \in MembersAfter THEN n
     ELSE IF later \cap MembersAfter = {} THEN NoMember
     ELSE CHOOSE k \in later \cap MembersAfter : TRUE
Removed == {n \in MembersBefore : Successor(n) = NoMember}
AppendFails == failing # failing' \/ \E i \in DOMAIN appends : appends[i].error # NoError

Waits(g, api, n) ==
  IF n \notin DOMAIN g.members THEN FALSE
  ELSE IF api = "JoinGroup" THEN g.members[n].awaitingJoin ELSE g.members[n].awaitingSync
Answers(api, n) == \E a \in answers' : a.to = Parked(api, n)

\* Kafka's state diagram, in which a rebalance may end at once. A removed group is Dead. GM:785
Arrows(state) ==
  CASE state = "Empty"               -> {"PreparingRebalance", "Dead"}
    [] state = "PreparingRebalance"  -> {"CompletingRebalance", "Empty", "Dead"}
    [] state = "CompletingRebalance" -> {"Stable", "PreparingRebalance", "Dead"}
    [] state = "Stable"              -> {"PreparingRebalance", "Dead"}
StateTransitions == [][
  LET from == IF NoneBefore THEN FirstState ELSE group.state
      to   == IF Exists' THEN GroupAfter.state ELSE "Dead"
      next == {from} \cup Arrows(from)
  IN to \in next \cup (IF "PreparingRebalance" \in next THEN Arrows("PreparingRebalance") ELSE {})
     \/ FailsOver]_vars

\* GM:534. The end of a join phase shows in the state, or in responses of the next generation.
Generation == [][
  LET before  == IF NoneBefore THEN 0 ELSE group.generation
      from    == IF NoneBefore THEN "Empty" ELSE group.state
      to      == GroupAfter.state
      \* In the same step the next rebalance can begin, and can end without members.
      empties == to = "Empty" /\ from # "Empty"
      begins  == Begins /\ (empties \/ to = "CompletingRebalance" \/ from = "PreparingRebalance")
      begun   == begins \/ (to = "CompletingRebalance" /\ from # to)
      ends    == (IF begun THEN 1 ELSE 0) + (IF empties THEN 1 ELSE 0)
      \* Where a join phase fails half-way, it has no timer any more. KAFKA-6005
      fails   == to = "PreparingRebalance" /\ GroupAfter.joinTimer = NoTimer
  IN \/ IF ~Exists' \/ to = "Dead" THEN GroupAfter.generation = 0
        ELSE /\ GroupAfter.generation \in
                  {Min(before + ends, Generations)} \cup
                  (IF fails THEN {Min(before + 1, Generations)} ELSE {})
             /\ \A a \in Admitted : a.generation = IF begun THEN before + 1 ELSE before
     \/ FailsOver]_vars

\* GC:1237
OneLeader == [][
  LET now(n) == IF n = RemovedId THEN GroupAfter.leader
                ELSE IF n \in MembersBefore /\ Successor(n) # NoMember THEN Successor(n) ELSE n
      before == GroupBefore.generation
      named  == {<<a.generation, now(a.leader)>> : a \in Admitted}
                \cup (IF InGeneration THEN {<<before, now(group.leader)>>} ELSE {})
                \cup (IF ~InGeneration' THEN {}
                      ELSE {<<IF Begins THEN before + 1 ELSE before, GroupAfter.leader>>})
  IN (\A one, other \in named : one[1] = other[1] => one = other) \/ FailsOver]_vars

\* GC:1228. A leader that must skip the assignment: KIP-814
MemberList == [][
  (\A a \in Admitted :
     LET leads == a.leader = a.memberId
     IN /\ DOMAIN a.members # {} \/ a.skips => leads
        /\ leads /\ (a.skips \/ GroupAfter.state = "CompletingRebalance") =>
             DOMAIN a.members = MembersAfter
        /\ a.skips => GroupBefore.state = "Stable" /\ GroupAfter.state = "Stable")
  \/ FailsOver]_vars

\* GC:958
SessionTimers == [][
  \A n \in MembersAfter :
    LET m      == GroupAfter.members[n]
        joins  == m.isNew /\ n \notin MembersBefore \cup {Successor(k) : k \in MembersBefore}
        starts == IF joins THEN NewMemberTicks ELSE SessionTicks
        before == IF n \in MembersBefore THEN GroupBefore.members[n].sessionLeft ELSE Stopped
        least  == IF before = Stopped THEN starts ELSE Min(starts, before)
    IN \/ m.sessionLeft = Stopped \/ m.sessionLeft >= least
       \/ m.sessionLeft = least - 1 /\ Passes
       \/ FailsOver]_vars

\* GM:515. A request is a parked one, or that of the step, which may park it under a name.
AnsweredOnce == [][
  LET fenced(a) == a.error = "FENCED_INSTANCE_ID"  \* of a replaced member, perhaps with its name
      named == {a \in answers' : a.to \notin {This, Held}}
      new   == {a \in named : ~fenced(a) /\ ~Waits(GroupBefore, a.to[1], a.to[2])}
      this  == {a \in answers' : a.to = This}
      parks == {n \in MembersAfter : \E api \in {"JoinGroup", "SyncGroup"} :
                  Waits(GroupAfter, api, n) /\ ~Waits(GroupBefore, api, n)}
  IN \/ /\ \A a \in named : IF fenced(a) THEN Waits(GroupBefore, a.to[1], a.to[2])
                            ELSE ~Waits(GroupAfter, a.to[1], a.to[2])
        /\ \A a, b \in named : a.to = b.to /\ (fenced(a) <=> fenced(b)) => a = b
        /\ Cardinality(this \cup new) =< 1
        /\ this # {} => parks = {}
        /\ Cardinality({a \in answers' : a.to = Held}) =< Len(appends)
     \/ FailsOver]_vars

\* GC:408. Not stated: that other requests get a response.
UnansweredRequests == [][
  (\A n \in MembersBefore, api \in {"JoinGroup", "SyncGroup"} :
     \/ ~Waits(GroupBefore, api, n) \/ Waits(GroupAfter, api, n) \/ Answers(api, n)
     \/ n \notin MembersAfter /\ ~(api = "JoinGroup" /\ RemovedAreAnswered))
  \/ FailsOver]_vars

\* GM:305
UniqueInstanceIds == [][
  (\A n, k \in MembersAfter : GroupAfter.members[n].instance = GroupAfter.members[k].instance =>
                                n = k \/ GroupAfter.members[n].instance = NoInstance)
  \/ FailsOver]_vars

\* GM:660. Not stated: that a marker which aborts makes no offset readable.
ReadCommitted == [][
  LET pending == GroupBefore.transaction
      changed == GroupAfter.offset.at # GroupBefore.offset.at
  IN \/ /\ changed /\ pending.status # "none" /\ GroupAfter.offset.at = pending.offset.at =>
             GroupAfter.transaction = NoTransaction
        /\ pending.status = "none" /\ GroupAfter.transaction.status # "none" => ~changed
     \/ FailsOver]_vars

\* GM:670. Not stated: that a marker which commits makes a newer offset readable.
NewestOffsetWins == [][
  LET pending == GroupBefore.transaction
      changed == GroupAfter.offset.at # GroupBefore.offset.at
  IN \/ changed /\ pending.status # "none" /\ GroupAfter.offset.at = pending.offset.at =>
          pending.newer
     \/ FailsOver]_vars

\* GC:530. A deletion that waits for the log is decided on when the log completes.
OnlyEmptyGroupsRemoved == [][
  LET waits   == \E i \in DOMAIN appends : appends[i].kind = "deletion"
      deletes == DeleteGroups \/ OffsetDelete \/ Cleanup \/ (waits /\ ReleaseAppends)
  IN ~Exists \/ Exists' \/ (MembersBefore = {} /\ deletes) \/ FailsOver]_vars

\* The offset is removed, perhaps with the group.
Gone       == GroupBefore.offset # NoOffset /\ GroupAfter.offset = NoOffset
Subscribes == MembersBefore # {} /\ "topic" \in GroupBefore.subscribed

\* GC:577
SubscribedOffsetsNotDeleted == [][Gone /\ Subscribes => ~OffsetDelete \/ FailsOver]_vars

\* GM:721
OffsetRetention == [][Gone /\ GroupBefore.offset.left > 0 => ~Cleanup \/ FailsOver]_vars

\* GM:716
SubscribedOffsetsNotExpired == [][Gone /\ Subscribes => ~Cleanup \/ FailsOver]_vars

\* KAFKA-13636
NoExpiryInRebalance == [][
  Gone /\ GroupBefore.state \in {"PreparingRebalance", "CompletingRebalance"} =>
    ~Cleanup \/ FailsOver]_vars

\* KIP-88. A version that holds responses may read what is replicated.
FetchedAsCommitted == [][
  (\A a \in Own : "offset" \in DOMAIN a /\ a.error = "NONE" =>
     \/ a.offset = GroupBefore.offset.at
     \/ committed # AllCommitted /\ a.offset = committed.offset.at)
  \/ FailsOver]_vars

\* KIP-88. A version that hides a new group at first shows it from then on.
ReadsChangeNothing == [][
  LET reads    == \E a \in Own : {"offset", "groups", "metadata"} \cap DOMAIN a # {}
      known(g) == [g EXCEPT !.notPersisted = FALSE]
  IN \/ reads => /\ Exists <=> Exists'
                 /\ known(GroupBefore) = known(GroupAfter)
                 /\ \A i \in DOMAIN appends' :
                      IF i \in DOMAIN appends THEN appends'[i] = appends[i]
                      ELSE appends'[i].kind = "answer"
                 /\ UNCHANGED <<holding, serving, active, failing, log, committed, maxSize,
                                forgottenJoin>>
     \/ FailsOver]_vars

\* KIP-62
HeartbeatsAndCommitsKeepMembers == [][
  LET untimed(m) == [m EXCEPT !.sessionLeft = Stopped]
      kept(g)    == <<IF g.state = "Dead" THEN "Empty" ELSE g.state, g.generation, g.protocolType,
                      g.protocolName, g.leader, [n \in DOMAIN g.members |-> untimed(g.members[n])],
                      g.pending, g.joinTimer>>
  IN \/ (\E a \in Own : DOMAIN a = Simple) => kept(GroupBefore) = kept(GroupAfter)
     \/ FailsOver]_vars

\* GM:277
LeaderCause == [][
  LET led    == GroupBefore.leader
      absent == GroupBefore.state = "PreparingRebalance" /\ ~Waits(GroupBefore, "JoinGroup", led)
  IN \/ led \notin MembersBefore \cap MembersAfter \/ AppendFails
     \/ GroupAfter.leader \in {led, NoMember} \/ absent
     \/ FailsOver]_vars

\* GM:534
GenerationCause == [][
  LET before == IF NoneBefore THEN 0 ELSE group.generation
  IN GroupAfter.generation > before \/ Begins =>
       \/ GroupBefore.state = "PreparingRebalance" \/ Removed # {} \/ JoinGroup
       \/ FailsOver]_vars

\* KIP-62. Without time the limit is Forever.
JoinPhaseLimit == [][
  LET longest(timer) == timer.left + timer.extension
      before == GroupBefore.joinTimer
      after  == GroupAfter.joinTimer
      limit  == IF MembersBefore \cup MembersAfter = {} THEN 0 ELSE RebalanceTimeout
      delay  == IF after.initial THEN DelayTicks ELSE 0
  IN \/ ~Timed \/ ~active \/ after = NoTimer
     \/ IF before = NoTimer \/ Begins THEN longest(after) =< Max(limit, delay)
        ELSE \/ longest(after) < longest(before)
             \/ longest(after) = longest(before) /\ ~Passes
     \/ FailsOver]_vars

\* KIP-134
InitialDelayCause == [][
  \/ ~GroupAfter.joinTimer.initial \/ GroupBefore.joinTimer.initial
  \/ GroupBefore.state \in {"Empty", "Dead"} /\ MembersAfter \ MembersBefore # {}
  \/ FailsOver]_vars

\* The time that is left on the join timer passes.
JoinTimerEnds == (Timed => GroupBefore.joinTimer.left =< 1) /\ Passes

\* KIP-134
InitialDelayExtension == [][
  \/ ~GroupBefore.joinTimer.initial \/ ~GroupAfter.joinTimer.initial
  \/ GroupBefore.newMemberAdded \/ ~active \/ ~JoinTimerEnds
  \/ FailsOver]_vars

\* KIP-62
JoinPhaseNotCutShort == [][
  LET timer   == GroupBefore.joinTimer
      ended   == Begins \/ GroupAfter.joinTimer = NoTimer
      sends   == {a.memberId : a \in Admitted}
      missing == {n \in MembersBefore \ Removed : ~Waits(GroupBefore, "JoinGroup", n)}
  IN \/ timer = NoTimer \/ ~ended \/ ~Exists'
     \/ /\ ~timer.initial /\ DOMAIN GroupAfter.pending = {}
        /\ \A n \in missing : Successor(n) \in sends
     \/ JoinTimerEnds \/ FailsOver]_vars

\* KIP-62
SyncAnsweredAtOnce == [][
  LET synced(n) == Waits(GroupAfter, "SyncGroup", n)
      stored    == \E i \in DOMAIN appends' : appends'[i].kind = "group"
  IN \/ \A n \in MembersAfter : ~synced(n)
     \/ GroupAfter.state = "CompletingRebalance" /\ (stored \/ ~synced(GroupAfter.leader))
     \/ FailsOver]_vars

\* KIP-62
JoinAnsweredAtOnce == [][
  LET stored == {appends'[i].memberId : i \in {j \in DOMAIN appends' : appends'[j].kind = "static"}}
  IN \/ GroupAfter.state = "PreparingRebalance"
     \/ \A n \in MembersAfter : Waits(GroupAfter, "JoinGroup", n) => n \in stored
     \/ FailsOver]_vars

\* KIP-394. Without time the limit is Forever.
PendingIdLimit == [][
  \/ ~Timed \/ ~active
  \/ LET before == GroupBefore.pending
         after  == GroupAfter.pending
     IN \A n \in DOMAIN after :
          IF n \notin DOMAIN before THEN after[n] =< SessionTicks
          ELSE after[n] < before[n] \/ (after[n] = before[n] /\ ~Passes)
  \/ FailsOver]_vars

\* KAFKA-16371
PendingCommitEnds == [][
  LET place == GroupAfter.unstable
  IN \/ IF place \in DOMAIN appends' THEN appends'[place].kind = "offsets" ELSE place = 0
     \/ FailsOver]_vars

\* The properties of the log. The partition is loaded, perhaps by a crash, which answers no request.
Loads == serving' = "served" /\ (serving # "served" \/ (answers' = {} /\ Crash))
TooLarge == IF log.group = NoRecord THEN FALSE
            ELSE Cardinality(DOMAIN log.group.members) > maxSize'

\* GMM:733. Not stated: that an offset which was acknowledged is in the log.
OffsetsDurable == [][
  /\ Logged /\ GroupAfter.offset # NoOffset => log'.offset # NoOffset
  /\ Loads => GroupAfter.offset = log'.offset]_vars

\* GM:129
RestoredAsRecorded == [][
  LET record   == log.group
      known(m) == <<m.protocols, m.instance, m.assignment>>
      all(ms)  == [n \in DOMAIN ms |-> known(ms[n])]
      state    == IF DOMAIN record.members = {} THEN "Empty" ELSE "Stable"
      restored ==
        IF record = NoRecord THEN MembersAfter = {}
        ELSE /\ <<GroupAfter.state, GroupAfter.protocolType, GroupAfter.protocolName,
                  GroupAfter.leader>>
                = <<state, record.protocolType, record.protocolName, record.leader>>
             /\ all(GroupAfter.members) = all(record.members)
  IN restored \/ TooLarge \/ ~Loads]_vars

\* GC:901. Without time no session timer runs.
RestoredSessions == [][
  Timed /\ (\E n \in MembersAfter : GroupAfter.members[n].sessionLeft # SessionTicks) =>
    ~Loads]_vars

\* GM:139
RestoredGeneration == [][
  LET recorded == IF log.group = NoRecord THEN 0 ELSE log.group.generation
  IN GroupAfter.generation # recorded => ~Loads]_vars

\* GC:428. DelayedProduce:65 has an error that comes after the append of the leader.
FailedAppendWithoutEffect == [][
  LET ageless(l) ==
        [l EXCEPT !.offset.left = 0, !.transaction.offset.left = 0,
                  !.group = IF @ = NoRecord THEN @ ELSE [@ EXCEPT !.emptyLeft = Stopped]]
      readable   == GroupAfter.offset # NoOffset /\ GroupAfter.offset.at # GroupBefore.offset.at
      stable     == GroupAfter.state = "Stable" /\ GroupBefore.state # "Stable"
      late       == failing = "REQUEST_TIMED_OUT" /\ LateErrors
  IN failing # NoError /\ failing' = NoError =>
       ~readable /\ ~stable /\ (late \/ ageless(log') = ageless(log))]_vars

\* GC:869. Not stated: which other requests get a response, and that a crash answers none.
UnloadAnswersRequests == [][
  LET lost   == Exists /\ ~Exists' /\ (serving' # "served" \/ ~active')
      due(api, n) == /\ Waits(group, api, n)
                     /\ api = "JoinGroup" => group.state = "PreparingRebalance"
      errors == {"NOT_COORDINATOR", "NOT_LEADER_OR_FOLLOWER"}
  IN lost =>
       \A n \in MembersBefore, api \in {"JoinGroup", "SyncGroup"} : due(api, n) =>
         \E a \in answers' : a.to = Parked(api, n) /\ a.error \in errors]_vars

\* KIP-389
SizeOnLoad == [][
  LET began == \/ GroupAfter.generation # log.group.generation
               \/ GroupAfter.state = "PreparingRebalance"
  IN log.group # NoRecord /\ (began # TooLarge) => ~Loads]_vars

\* GC:856. A transaction marker is in the log nevertheless. Not stated: that no commit is accepted.
UnavailableChangesNothing == [][
  (~active \/ serving # "served") /\ Own # {} =>
    /\ UNCHANGED <<group, holding, appends, serving, active, failing, committed, maxSize,
                   forgottenJoin>>
    /\ log' = log \/ \A a \in Own : DOMAIN a = Simple]_vars

\* GC:180. A join phase of the new group may end at once, or fail half-way (KAFKA-6005).
DeadIsFinal == [][
  LET after == GroupAfter
      ended == \/ after.state = "CompletingRebalance"
               \/ after.state = "PreparingRebalance" /\ after.joinTimer = NoTimer
  IN NoneBefore /\ Exists' =>
       \/ MembersBefore = {} /\ after.generation = (IF ended THEN 1 ELSE 0)
       \/ FailsOver]_vars

=============================================================================

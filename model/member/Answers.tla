------------------------------ MODULE Answers -------------------------------
(* What a consumer does when a request is answered: an operator for each API, *)
(* which has the step, without the answered request in flight, and the answer *)
(* r. Their branches are those of the handlers in the Java client.            *)
EXTENDS Consumer

NotCoordinator == {"COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"}

\* AC:828. An authorization error ends commitSync, poll, or the wait in close.
OnFindCoordinator(s, r) ==
  IF r.error = "NONE" THEN
    IF s.pending                                                                        \* CC:936
    THEN SendOffsetCommit([Apply(s, "find/found-and-commits") EXCEPT
                             !.coordinator = TRUE, !.pending = FALSE], FALSE, FALSE)
    ELSE [Apply(s, "find/found") EXCEPT !.coordinator = TRUE]                           \* AC:836
  ELSE IF r.error = "GROUP_AUTHORIZATION_FAILED" THEN                                   \* AC:851
    IF s.application = "waits in commitSync"
    THEN FailCommit([Apply(s, "find/commit-not-authorized") EXCEPT !.answered.waited = TRUE],
                    "another error")
    ELSE IF WaitsInCall(s)                                                              \* CC:1066
    THEN AutoCommitEnds(Apply(s, "find/automatic-commit-not-authorized"))
    ELSE IF Drains(s)                                                                   \* CC:895
    THEN Raise(Leave([Apply(s, "find/close-not-authorized") EXCEPT !.pending = FALSE,
                                                                   !.completed = ""]),
               "another error")
    ELSE IF s.pending
    THEN Raise(FailPending(s, "find/not-authorized-and-commits"), "another error")
    ELSE Raise(Apply(s, "find/not-authorized"), "another error")
  ELSE IF s.pending THEN FailPending(s, "find/retriable-and-commits")
  ELSE Apply(s, "find/retriable")                                                       \* AC:853

\* AC:562. If the future of the join fails, the consumer has to join again. AC:475
OnJoinGroup(s, r) ==
  LET again(rule) == RequestRejoin(Apply(s, rule))
      unexpected == Raise(again("join/unexpected"), "another error")
  IN IF r.error = "NONE" THEN
       IF s.phase # "PREPARING_REBALANCE"                                               \* AC:580
       THEN [again("join/left") EXCEPT !.latest = r.generation]
       ELSE Send([Apply(s, IF r.skips THEN "join/returned" ELSE "join/joined") EXCEPT   \* AC:585
                    \* A returning leader sends no assignments. 4.1 CC:680
                    !.phase = "COMPLETING_REBALANCE", !.memberId = r.memberId,
                    !.generation = r.generation, !.latest = r.generation],
                 [Event("SyncGroup") EXCEPT !.leader = r.leader /\ ~r.skips])
     ELSE IF r.error = "COORDINATOR_LOAD_IN_PROGRESS" THEN again("join/loading")        \* AC:606
     ELSE IF r.error = "UNKNOWN_MEMBER_ID" THEN
       IF GenerationUnchanged(s)                                                        \* AC:615
       THEN ResetOnResponseError(again("join/unknown-member"), r.error)
       ELSE again("join/unknown-member-stale")                                          \* AC:618
     ELSE IF r.error \in NotCoordinator                                                 \* AC:619
     THEN MarkCoordinatorUnknown(again("join/not-coordinator"))
     ELSE IF r.error = "FENCED_INSTANCE_ID"                                             \* AC:626
     THEN GiveUp(Raise(again("join/fenced"), "fatal"))
     ELSE IF r.error \in {"INCONSISTENT_GROUP_PROTOCOL", "INVALID_SESSION_TIMEOUT",
                          "INVALID_GROUP_ID", "GROUP_AUTHORIZATION_FAILED",
                          "GROUP_MAX_SIZE_REACHED"}                                     \* AC:632
     THEN Raise(again("join/rejected"), "another error")
     ELSE IF r.error = "MEMBER_ID_REQUIRED"                                             \* AC:651
     THEN [again("join/member-id-required") EXCEPT
             !.memberId = r.memberId, !.generation = NoGeneration]
     ELSE IF r.error = "REBALANCE_IN_PROGRESS" /\ RetriesJoin                       \* 4.1 AC:741
     THEN again("join/rebalancing")
     ELSE unexpected                                                                    \* AC:661

\* AC:725. As above, also for each error. AC:776
OnSyncGroup(s, r) ==
  LET again(rule) == RequestRejoin(Apply(s, rule))
  IN IF r.error = "NONE" THEN
       IF s.generation = NoGeneration \/ s.phase # "COMPLETING_REBALANCE"               \* AC:766
       THEN again("sync/left")
       ELSE OnJoinComplete(s, r.partitions)                                             \* AC:757
     ELSE IF r.error = "GROUP_AUTHORIZATION_FAILED"                                     \* AC:778
     THEN Raise(again("sync/not-authorized"), "another error")
     ELSE IF r.error = "REBALANCE_IN_PROGRESS" THEN again("sync/rebalancing")           \* AC:780
     ELSE IF r.error = "FENCED_INSTANCE_ID"                                             \* AC:784
     THEN GiveUp(Raise(again("sync/fenced"), "fatal"))
     ELSE IF r.error \in {"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"} THEN
       IF ~GenerationUnchanged(s) THEN again("sync/stale")                              \* AC:797
       ELSE ResetOnResponseError(again(IF r.error = "UNKNOWN_MEMBER_ID"      \* AC:794, 4.1 AC:888
                                       THEN "sync/unknown-member"
                                       ELSE "sync/illegal-generation"), r.error)
     ELSE IF r.error \in NotCoordinator                                                 \* AC:798
     THEN MarkCoordinatorUnknown(again("sync/not-coordinator"))
     ELSE Raise(again("sync/unexpected"), "another error")                              \* AC:804

\* AC:1099
OnHeartbeat(s, r) ==
  IF r.error = "NONE" THEN Apply(s, "heartbeat/alive")                                  \* AC:1109
  ELSE IF r.error \in NotCoordinator                                                    \* AC:1112
  THEN MarkCoordinatorUnknown(Apply(s, "heartbeat/not-coordinator"))
  ELSE IF r.error = "REBALANCE_IN_PROGRESS" THEN
    IF s.phase = "STABLE" THEN RequestRejoin(Apply(s, "heartbeat/rebalancing"))         \* AC:1121
    ELSE Apply(s, "heartbeat/rebalancing-already")                                      \* AC:1125
  ELSE IF r.error \in {"ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"} THEN
    IF ~GenerationUnchanged(s) THEN Apply(s, "heartbeat/stale")                         \* AC:1137
    ELSE IF r.error = "FENCED_INSTANCE_ID"            \* AC:1131; the next poll raises it. AC:1418
    THEN GiveUp(Raise(ResetOnResponseError(Apply(s, "heartbeat/fenced"), r.error), "fatal"))
    ELSE ResetOnResponseError(Apply(s, IF r.error = "UNKNOWN_MEMBER_ID"    \* AC:1132, 4.1 AC:1278
                                       THEN "heartbeat/unknown-member"
                                       ELSE "heartbeat/illegal-generation"), r.error)
  ELSE Apply(s, "heartbeat/other-error")                                          \* AC:1143, 1422

\* CC:1163
OnOffsetCommit(s, r) ==
  IF r.error = "NONE"                                                                   \* CC:1184
  THEN EndCommit(Apply(s, "commit/committed"), "the commit succeeds")
  ELSE IF r.error \in {"GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED",
                       "OFFSET_METADATA_TOO_LARGE", "INVALID_COMMIT_OFFSET_SIZE"}       \* CC:1193
  THEN FailCommit(Apply(s, "commit/rejected"), "another error")
  ELSE IF r.error \in {"COORDINATOR_LOAD_IN_PROGRESS", "UNKNOWN_TOPIC_OR_PARTITION"}    \* CC:1203
  THEN RetryCommit(Apply(s, "commit/retriable"))
  ELSE IF r.error \in NotCoordinator \cup {"REQUEST_TIMED_OUT"}                         \* CC:1208
  THEN MarkCoordinatorUnknown(RetryCommit(Apply(s, "commit/not-coordinator")))
  ELSE IF r.error = "FENCED_INSTANCE_ID" THEN
    IF GenerationUnchanged(s) /\ s.answered.waited                                      \* CC:1218
    THEN GiveUp(FailCommit(Apply(s, "commit/fenced-synchronous"), "fatal"))
    ELSE IF GenerationUnchanged(s)                  \* CC:1218; the callback is not called. CC:901
    THEN GiveUp(Raise(Apply(s, "commit/fenced"), "fatal"))
    ELSE IF s.phase = "PREPARING_REBALANCE"                                             \* CC:1221
    THEN FailCommit(Apply(s, "commit/stale"), "rebalance in progress")
    ELSE FailCommit(Apply(s, "commit/stale-fenced"), "no longer a member")              \* CC:1225
  ELSE IF r.error = "REBALANCE_IN_PROGRESS"                                             \* CC:1230
  THEN FailCommit(RequestRejoin(Apply(s, "commit/rebalancing")), "rebalance in progress")
  ELSE IF r.error \in {"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"} THEN
    IF ~GenerationUnchanged(s) /\ s.phase = "PREPARING_REBALANCE"                       \* CC:1250
    THEN FailCommit(Apply(s, "commit/stale"), "rebalance in progress")
    ELSE LET rule == IF r.error = "UNKNOWN_MEMBER_ID"                      \* CC:1255, 4.1 CC:1445
                     THEN "commit/unknown-member" ELSE "commit/illegal-generation"
         IN FailCommit(ResetOnResponseError(Apply(s, rule), r.error), "no longer a member")
  ELSE FailCommit(Apply(s, "commit/unexpected"), "another error")                       \* CC:1260

=============================================================================

------------------------------ MODULE Requests -------------------------------
(* The effects of some requests.                                              *)
EXTENDS StaticMembers, Transactions, Waiting

\* Whether the protocols of a JoinGroup do not fit the group: an Empty group needs one, any other
\* group its own type and one that all members support. GM:442
IsInconsistent(g, r) ==
  IF ~ChecksFirstOffer /\ DOMAIN g.members = {} THEN FALSE
  ELSE IF g.state = "Empty" THEN r.protocols = <<>>
  ELSE \/ g.protocolType # r.protocolType
       \/ ~\E i \in DOMAIN r.protocols : SupportedByAll(g.members, r.protocols[i].name)

\* A JoinGroup without a member id creates the group, even if it is then rejected.
CreatedByJoin(s) ==
  LET g == IF s.group = NoGroup THEN NewGroup ELSE s.group
      type == IF EmptyGroupsDie THEN "consumer" ELSE Null
  IN IF IsDead(s.group)
     THEN [s EXCEPT !.group = [g EXCEPT !.state = FirstState, !.protocolType = type]]
     ELSE s

RejectInconsistent(s, memberId) ==
  Answer(s, Refusal("INCONSISTENT_GROUP_PROTOCOL", memberId))

GiveId(s, n) ==
  Answer([s EXCEPT !.group.pending = With(@, n, SessionTicks)],
         JoinAnswer(This, "MEMBER_ID_REQUIRED", n))

IsUnchanged(g, r) == g.members[r.memberId].protocols = r.protocols

Rejoin(s, r) == MaybePrepareRebalance(ParkJoin(s, r.memberId, r.protocols))

RecordNewGroups(steps) ==
  {IF s.found \/ ~RecordsNewGroups THEN s ELSE StoreNewGroup(s) : s \in steps}

CompleteJoins(steps) ==
  RecordNewGroups(UNION {IF s.group.state = "PreparingRebalance" THEN CheckJoinComplete(s) ELSE {s}
                  : s \in steps})

\* The JoinGroup is parked, and does not wait for an append of its own.
HoldJoin(s) ==
  IF \E i \in DOMAIN s.appends : s.appends[i].kind = "static" /\ s.appends[i].newId = s.parks THEN s
  ELSE IF IsParked(s, "JoinGroup", s.parks) THEN HoldRequest(s, "JoinGroup", s.parks)
  ELSE s

\* After that the step does not need to know whose JoinGroup it parks.
EndJoin(steps) == {[HoldJoin(s) EXCEPT !.parks = NoMember] : s \in CompleteJoins(steps)}

\* The same after a rejected JoinGroup, where that can complete the join phase.
EndRejectedJoin(s) == IF RejectedJoinsComplete THEN EndJoin({s}) ELSE RecordNewGroups({s})

RestartSession(s, n) == [s EXCEPT !.group.members[n] = RestartTimer(@)]

\* The generation does not wait for this member any more. After the last one the timer stops.
\* 4.1 GMM:7586
NoteSynced(s, n) ==
  LET g == [s.group EXCEPT !.members[n].unsynced = FALSE]
      waits == g.lostSync \/ \E k \in DOMAIN g.members : g.members[k].unsynced
  IN [s EXCEPT !.group = [g EXCEPT !.syncLeft = IF waits THEN @ ELSE Stopped]]

ParkSync(s, n) ==  \* GC:408
  [NoteSynced(DropParkedBefore(s, "SyncGroup", n), n) EXCEPT
     !.group.members[n].awaitingSync = TRUE, !.group.members[n].sessionLeft = Stopped]

\* 4.1 checks the group only once the whole batch is processed, if any member left. 4.1 GMM:7976
AfterBatch(s, errors) ==
  IF ~LeavesTogether \/ s.group.state = "Empty" \/ \A i \in DOMAIN errors : errors[i] # "NONE"
  THEN {s}
  ELSE IF s.group.state = "PreparingRebalance" THEN CheckJoinComplete(s) ELSE PrepareRebalance(s)

NoteSyncedInStable(s, n) == IF SyncsRestartSessions THEN RestartSession(s, n) ELSE NoteSynced(s, n)

\* The rule for one member of a batch. A group.instance.id has precedence over the member id.
LeaveRule(g, n, instance) ==
  LET known == StaticMemberId(g, instance)
      fenced == n # NoMember /\ known \notin {NoMember, n}
      given == n \in DOMAIN g.pending
  IN IF given /\ (LeavesTogether \/ (~fenced /\ instance = NoInstance))
     THEN "leave/pending-member"                                                     \* GC:477
     ELSE IF IsUnknownInstance(g, [instance |-> instance])
     THEN "leave/unknown-instance"                                               \* 4.1 CG:805
     ELSE IF fenced THEN "leave/fenced"                                              \* GC:475
     ELSE IF given THEN "leave/pending-static"                                       \* GC:479
     ELSE IF known = RemovedId THEN "leave/static-removed"                              \* GC:493
     ELSE IF known = NoMember /\ n \notin DOMAIN g.members
     THEN "leave/unknown-member"                                                     \* GC:489
     ELSE "leave/member"                                                             \* GC:492

LeaveError(rule) ==
  IF rule \in {"leave/unknown-member", "leave/unknown-instance"} THEN "UNKNOWN_MEMBER_ID"
  ELSE IF rule = "leave/fenced" THEN "FENCED_INSTANCE_ID" ELSE "NONE"

\* A deferred response to a batch lists the members of the request.
AnswerBatchWhenCommitted(s, members, answer) ==
  LET t == AnswerWhenCommitted(s, "LeaveGroup", answer)
  IN IF s.committed = AllCommitted THEN t
     ELSE [t EXCEPT !.appends[Len(t.appends)].members = members]

RECURSIVE LeaveFrom(_, _, _, _)
LeaveFrom(before, members, errors, i) ==  \* One member at a time. GC:471
  LET rule == LeaveRule(before.group, members[i].memberId, members[i].instance)
      s == IF i > Len(members) THEN before ELSE Apply(before, rule)
      rest(t) == LeaveFrom(t, members, Append(errors, LeaveError(rule)), i + 1)
      fails == {Answer(s, [to |-> This, error |-> "UNKNOWN_SERVER_ERROR", errors |-> <<>>])}
      n == members[i].memberId
      instance == members[i].instance
      known == StaticMemberId(s.group, instance)
      leaver == IF known = NoMember THEN n ELSE known
      pending == IF LeavesTogether THEN {DropPendingId(s, n)} ELSE RemovePending(s, n)
      left == IF LeavesTogether THEN RemoveFromGroup(s, leaver) ELSE RemoveMember(s, leaver)
      fine == [to |-> This, error |-> "NONE", errors |-> errors]
      \* The record of the empty group failed. 4.1 GMM:7993
      failed(t) == LeavesTogether /\ s.failing # t.failing
      refusal == [fine EXCEPT !.error = CommitError(s.failing), !.errors = <<>>]
      answered(t) == IF failed(t) THEN Answer(Apply(t, "leave/empty-not-stored"), refusal)
                     ELSE AnswerBatchWhenCommitted(t, members, fine)
  IN IF i > Len(members) THEN {answered(t) : t \in AfterBatch(s, errors)}
     ELSE CASE rule \in {"leave/pending-static", "leave/static-removed"} -> fails
            [] rule = "leave/pending-member" -> UNION {rest(t) : t \in pending}
            [] rule = "leave/member"         -> UNION {rest(t) : t \in left}
            [] OTHER                         -> rest(s)

LeaveAnswer(r, error, each) ==
  [to |-> This, error |-> error,
   errors |-> IF each = "" THEN <<>> ELSE [i \in DOMAIN r.members |-> each]]

FetchRule(g, requireStable) ==
  IF IsDead(g) /\ ~EmptyGroupsDie THEN "fetch/no-group"                             \* GMM:492
  ELSE IF requireStable /\ g.unstable # 0 THEN "fetch/unstable"                     \* GMM:510
  ELSE IF requireStable /\ g.transaction # NoTransaction THEN "fetch/in-transaction"  \* GM:692
  ELSE "fetch/committed"                                                            \* GMM:514

FetchAnswer(g, requireStable) ==
  LET unstable == g # NoGroup /\ requireStable /\
                  (g.unstable # 0 \/ g.transaction # NoTransaction)
  IN [to |-> This, error |-> IF unstable THEN "UNSTABLE_OFFSET_COMMIT" ELSE "NONE",
      offset |-> IF g = NoGroup \/ unstable THEN -1 ELSE g.offset.at]

\* Where responses are deferred, a response with stable offsets is deferred too.
Fetched(s, r) ==
  LET read(t) == {Answer(Apply(t, FetchRule(t.group, FALSE)), FetchAnswer(t.group, FALSE))}
      rule == FetchRule(s.group, TRUE)
  IN IF r.requireStable
     THEN {AnswerWhenCommitted(Apply(s, rule), "OffsetFetch", FetchAnswer(s.group, TRUE))}
     ELSE ReadsCommitted(s, read)

NotDescribed(error) ==
  [to |-> This, error |-> error, state |-> "", protocolType |-> "", protocolName |-> "",
   metadata |-> NoEntries, assignments |-> NoEntries]

DescribeRule(g) ==
  IF IsDead(g) /\ ReturnsNotFound THEN "describe/not-found"                     \* 4.1 GMM:774
  ELSE IF IsDead(g) THEN "describe/no-group"                                         \* GC:825
  ELSE IF g.notPersisted THEN "describe/not-persisted"                              \* 4.1 GMM:745
  ELSE IF g.state = "Stable" THEN "describe/stable"                                  \* GM:561
  ELSE "describe/unstable"                                                           \* GM:568

Described(before) ==
  LET s == Apply(before, DescribeRule(before.group))
      g == s.group
      shown == [NotDescribed("NONE") EXCEPT !.state = "Dead"]
      gone == Answer(s, [shown EXCEPT
                           !.error = IF ReturnsNotFound THEN "GROUP_ID_NOT_FOUND" ELSE @])
      there == Answer([s EXCEPT !.group.notPersisted = FALSE],
            [shown EXCEPT
               !.state = IF g.state = "CompletingRebalance" THEN CompletingName ELSE g.state,
               !.protocolType = IF g.protocolType = Null THEN "" ELSE g.protocolType,
               !.protocolName = IF g.state = "Stable" THEN g.protocolName ELSE "",
               !.metadata = [n \in DOMAIN g.members |->
                 IF g.state = "Stable" THEN MetadataOf(g.members[n], g.protocolName) ELSE ""],
               !.assignments = [n \in DOMAIN g.members |->
                 IF g.state = "Stable" \/ AssignmentsStay THEN g.members[n].assignment ELSE ""]])
  IN IF IsDead(g) THEN {gone}
     ELSE IF g.notPersisted THEN {gone, there}
     ELSE {there}

\* A TxnOffsetCommit creates the group, even if it is then rejected. GC:680
CreatedByCommit(s) ==
  IF s.group = NoGroup THEN [s EXCEPT !.group = [NewGroup EXCEPT !.notPersisted = HidesUnpersisted]]
  ELSE s

\* The states that a filter names.
StatesOf(filter) == {filter} \cup (IF FilterIgnoresCase /\ filter = "empty" THEN {"Empty"} ELSE {})

ListRule(g, r) ==
  IF IsDead(g) THEN "list/no-group"                                                  \* GC:813
  ELSE IF r.filter # Null /\ g.state \notin StatesOf(r.filter) THEN "list/other-state"  \* GC:815
  ELSE IF r.type \notin {Null, "classic"} THEN "list/other-type"                \* 4.1 GMM:622
  ELSE IF g.notPersisted THEN "list/not-persisted"                                  \* 4.1 GMM:627
  ELSE "list/group"                                                                  \* GC:816

Listed(before, r) ==
  LET rule == ListRule(before.group, r)
      s == Apply(before, rule)
      g == s.group
      shown == [state |-> g.state,
                protocolType |-> IF g.protocolType = Null THEN "" ELSE g.protocolType]
      listed(t, groups) == Answer(t, [to |-> This, error |-> "NONE", groups |-> groups])
      there == listed([s EXCEPT !.group.notPersisted = FALSE], {shown})
  IN CASE rule = "list/group"     -> {there}
       [] rule = "list/not-persisted" -> {listed(s, {}), there}
       [] OTHER                   -> {listed(s, {})}

ReadList(s, r) ==
  LET listed(t) == Listed(t, r)
  IN ReadsCommitted(s, listed)

\* The pending ids are removed too. GMM:834
Deleted(s) == [NoteRemoved(Apply(s, "group/deleted")) EXCEPT !.group = NoGroup]

DeleteAnswer(error, each) == [to |-> This, error |-> error, each |-> each]

\* DeleteGroups, once everything is committed.
Delete(s, to) ==
  LET answer(error) == [DeleteAnswer("NONE", {error}) EXCEPT !.to = to]
      empty == Apply(s, "delete/empty")
  IN IF IsDead(s.group)                                                              \* GC:523
     THEN {Answer(Apply(s, "delete/no-group"), answer("GROUP_ID_NOT_FOUND"))}
     ELSE IF s.group.state # "Empty"                                                 \* GC:534
     THEN {Answer(Apply(s, "delete/not-empty"), answer("NON_EMPTY_GROUP"))}
     ELSE IF RemovalFails(s, TRUE)                                             \* 4.1 GCS:1438
     THEN {Answer(Apply(t, "delete/not-stored"), answer(CommitError(s.failing)))
           : t \in RemovalIsRolledBack(empty)}
     ELSE {AnswerWhenCommitted(Deleted(WriteRemoval(empty, HasOffset(s.group), TRUE)),
                               "DeleteGroups", answer("NONE"))}                      \* GC:530

RECURSIVE DeleteFrom(_, _, _)
DeleteFrom(s, entries, place) ==
  IF place > Len(entries) THEN {s}
  ELSE UNION {DeleteFrom(t, entries, place + 1)
              : t \in IF entries[place].kind = "deletion" THEN Delete(s, Held) ELSE {s}}

\* Deletions that waited are decided on after the release. 4.1 GCS:1360
Release(s) == UNION {DeleteFrom(t, s.appends, 1) : t \in CompleteHeld(s)}

OffsetDeleteAnswer(error, topics) == [to |-> This, error |-> error, topics |-> topics]

\* An Empty group is removed with its last offset. GM:699
OffsetDeleted(s, topic) ==
  LET g == IF topic # "topic" THEN s.group
           ELSE [s.group EXCEPT !.offset = NoOffset, !.unstable = 0,
                                !.transaction = NoTransaction,
                                !.awaitsMarker = @ /\ ~TombstonesEndTransactions]
      removes == topic = "topic" /\ HasOffset(s.group)
      left == g.offset # NoOffset \/ g.unstable # 0 \/ g.awaitsMarker
      dies == g.state = "Empty" /\ ~left /\ LastOffsetRemovesGroup
      t == WriteRemoval(s, removes, dies)
  IN IF RemovalFails(s, removes)                \* offset-delete/not-stored 4.1 GCS:2072
     THEN {Answer(Apply(u, "offset-delete/not-stored"),
                  OffsetDeleteAnswer(CommitError(s.failing), {})) : u \in RemovalIsRolledBack(s)}
     ELSE {AnswerWhenCommitted(IF dies THEN Deleted(t) ELSE [t EXCEPT !.group = g],
                 "OffsetDelete", OffsetDeleteAnswer("NONE", {<<topic, "NONE">>}))}

==============================================================================

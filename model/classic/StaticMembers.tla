---------------------------- MODULE StaticMembers ----------------------------
(* Static members that rejoin by their group.instance.id, and full groups.    *)
EXTENDS Log

\* In PreparingRebalance members with a parked JoinGroup count, so that the last ones to rejoin are
\* rejected. GC:131
IsFull(s, r) ==
  LET g == s.group
      waits == {n \in DOMAIN g.members : g.members[n].awaitingJoin}
  IN CASE g.state = "PreparingRebalance" ->
            r.memberId \notin waits /\ Cardinality(waits) >= s.maxSize
       [] g.state \in {"CompletingRebalance", "Stable"} ->
            r.memberId \notin DOMAIN g.members /\ Cardinality(DOMAIN g.members) >= s.maxSize
       [] OTHER -> FALSE

\* The member id and the group.instance.id of the request are removed independently. 4.1 removes the
\* member with its own group.instance.id, or the pending id. 4.1 GMM:6170
RejectFull(s, r) ==
  LET known == r.memberId \in DOMAIN s.group.members
      own == IF known THEN s.group.members[r.memberId].instance ELSE NoInstance
      instance == IF RejectionRemovesMember THEN own ELSE r.instance
      kept == IF RejectionRemovesMember THEN DropPendingId(s, r.memberId) ELSE s
  IN {Answer(ForgetInstance(t, instance), Refusal("GROUP_MAX_SIZE_REACHED", NoMember))
       : t \in IF known THEN DropMembers(kept, {r.memberId}) ELSE {kept}}

\* The names that a member which replaces another may get.
FreeNamesWithout(g, old) == Names \ ((DOMAIN g.members \cup DOMAIN g.pending) \ {old})

FencedParked(m, n) ==
  (IF m.awaitingJoin THEN {JoinAnswer(Parked("JoinGroup", n), "FENCED_INSTANCE_ID", n)} ELSE {})
  \cup (IF m.awaitingSync THEN {SyncAnswer(Parked("SyncGroup", n), "FENCED_INSTANCE_ID")} ELSE {})

\* The member gets a new id, and its new JoinGroup is parked. Requests parked under the old id are
\* fenced. If the generation waits for its SyncGroup, it waits for the old id. GM:305, 4.1 CG:577
ReplaceMember(s, r, n) ==
  LET g == s.group
      old == StaticMemberId(g, r.instance)
      m == g.members[old]
      renewed == RestartTimer([m EXCEPT !.awaitingJoin = FALSE, !.awaitingSync = FALSE,
                                        !.idKnown = FALSE, !.protocols = r.protocols,
                                        !.isNew = @ /\ ReplacementsStayNew, !.unsynced = FALSE])
      parked == [renewed EXCEPT !.awaitingJoin = TRUE,
                                !.sessionLeft = IF renewed.isNew THEN @ ELSE Stopped]
  IN [s EXCEPT
        !.answers = @ \cup FencedParked(m, old),
        !.parks = n,
        !.group.members = With(Without(@, {old}), n, parked),
        !.group.leader = IF @ = old THEN n ELSE @,
        !.group.lostSync = @ \/ m.unsynced,
        !.group.statics = With(@, r.instance, n),
        !.appends = [i \in DOMAIN @ |-> [s.appends[i] EXCEPT
          !.memberId = IF @ # old THEN @ ELSE IF ReplacementsAreNew THEN NoMember ELSE n,
          !.of = IF @ = old THEN NoMember ELSE @,
          !.members = [k \in DOMAIN @ |->
            [@[k] EXCEPT !.memberId = IF @ = old THEN RemovedId ELSE @]],
          !.newId = IF @ = old THEN RemovedId ELSE @,
          !.leader = IF @ = old THEN RemovedId ELSE @,
          !.assignments = Without(@, {old})]]]

\* In Stable: the protocols that the vote may select with the new request.
VoteWith(g, r) ==
  SelectProtocol([g.members EXCEPT ![StaticMemberId(g, r.instance)].protocols = r.protocols])

\* The new id cannot be stored. The group is as before, except that no request is parked under the
\* old id and its session timer restarts. 4.1 GMM:7254
RollBackReplacement(s, old) ==
  LET g == s.group
      m == [g.members[old] EXCEPT !.awaitingJoin = FALSE, !.awaitingSync = FALSE]
      rejected == Answer(Apply(s, "log/new-id-failed"),
                         [CurrentGeneration(This, g, NoMember) EXCEPT
                            !.error = GroupError(s.failing), !.members = NoEntries])
  IN PersistOrForget([rejected EXCEPT
                        !.answers = @ \cup FencedParked(g.members[old], old),
                        !.group.members[old] = RestartTimer(m),
                        !.failing = NoError],
                     s.failing)

\* The new id is stored. The response names the leader of before, so that no member assigns again,
\* or tells the leader to skip the assignment. GC:1053, 4.1 GMM:7274
StoreNewId(s, r, n) ==
  LET led == s.group.leader
      old == StaticMemberId(s.group, r.instance)
      t == [ReplaceMember(s, r, n) EXCEPT !.group.members[n].sessionLeft = SessionTicks]
  IN IF FailuresAreRolledBack /\ s.failing # NoError THEN RollBackReplacement(s, old)
     ELSE AppendToLog(t, [NoAppend EXCEPT
       !.kind = "static", !.newId = n, !.memberId = n,
       !.replaced = IF s.failing = NoError THEN @ ELSE old,
       !.idWasKnown = s.failing = NoError \/ s.group.members[old].idKnown,
       !.offered = IF s.failing = NoError THEN @ ELSE r.protocols,
       !.current = r.skips, !.leader = IF s.holding /\ led = old THEN RemovedId ELSE led])

RejoinStatic(s, r) ==
  LET g == s.group
      free == FreeNamesWithout(g, StaticMemberId(g, r.instance))
      \* If the append fails but is written, the new id is in the log, and the old one in memory.
      stored == IF s.failing # NoError /\ IsWritten(s.failing)
                THEN free \ {StaticMemberId(g, r.instance)} ELSE free
      taken == {ReplaceMember(s, r, n) : n \in free \ IdsInLog(s.log)}
      \* 4.1 GMM:7274, GC:1053
      same == Apply(s, IF r.skips THEN "join/static-restarted" ELSE "join/static-unchanged")
      rebalance(rule) == UNION {PrepareRebalance(Apply(t, rule)) : t \in taken}
  IN IF StaticMemberId(g, r.instance) = RemovedId                                  \* GM:312
     THEN {Answer(Apply(s, "join/static-removed"),
                  JoinAnswer(This, "UNKNOWN_SERVER_ERROR", NoMember))}
     ELSE CASE g.state = "Stable" ->                                       \* GC:1090
                 (IF g.protocolName \in VoteWith(g, r)
                  THEN UNION {StoreNewId(same, r, n) : n \in stored} ELSE {})
                 \cup (IF VoteWith(g, r) \ {g.protocolName} # {}
                       THEN rebalance("join/static-changed") ELSE {})
            [] g.state = "CompletingRebalance" ->                          \* GC:1098
                 rebalance("join/static-completing")
            [] OTHER -> {Apply(t, "join/static-preparing") : t \in taken}  \* GC:1102

==============================================================================

---------------------------- MODULE StaticMembers -----------------------------
(* Who comes back under its group.instance.id, or finds the group full.       *)
EXTENDS Log

\* Who waits already is counted, so that the last to join again are the ones too many. GC:131
IsFull(g, r) ==
  LET waits == {n \in DOMAIN g.members : g.members[n].awaitingJoin}
  IN CASE g.state = "PreparingRebalance" ->
            r.memberId \notin waits /\ Cardinality(waits) >= MaxSize
       [] g.state \in {"CompletingRebalance", "Stable"} ->
            r.memberId \notin DOMAIN g.members /\ Cardinality(DOMAIN g.members) >= MaxSize
       [] OTHER -> FALSE

\* The member id is forgotten, and the instance id, each by itself; in 4.1 the member with its
\* own, and an id that was given out. 4.1 GMM:6170
RejectFull(s, r) ==
  LET known == r.memberId \in DOMAIN s.group.members
      own == IF known THEN s.group.members[r.memberId].instance ELSE NoInstance
      instance == IF RejectionRemovesMember THEN own ELSE r.instance
      kept == IF RejectionRemovesMember THEN [s EXCEPT !.group.pending = Without(@, {r.memberId})] ELSE s
  IN {Answer(ForgetInstance(t, instance), Refusal("GROUP_MAX_SIZE_REACHED", NoMember))
       : t \in IF known THEN DropMembers(kept, {r.memberId}) ELSE {kept}}

\* Names that the one who takes a member's place may be given.
FreeNamesWithout(g, old) == Names \ ((DOMAIN g.members \cup DOMAIN g.pending) \ {old})

FencedParked(m, n) ==
  (IF m.awaitingJoin THEN {JoinAnswer(Parked("JoinGroup", n), "FENCED_INSTANCE_ID", n)} ELSE {})
  \cup (IF m.awaitingSync THEN {SyncAnswer(Parked("SyncGroup", n), "FENCED_INSTANCE_ID")} ELSE {})

\* The member goes on under a new id, its new JoinGroup parked; who waits under the old is told. If
\* the generation waits for its SyncGroup, it does so under the old id. GM:305, 4.1 CG:577
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

\* In Stable: whether the vote may go to the same protocol as before, and to another.
VoteWith(g, r) ==
  SelectProtocol([g.members EXCEPT ![StaticMemberId(g, r.instance)].protocols = r.protocols])

\* The new id cannot be stored: all is as it was, but that nobody waits under the old one any more,
\* and its session begins anew. 4.1 GMM:7252
RollBackReplacement(s, old) ==
  LET g == s.group
      m == [g.members[old] EXCEPT !.awaitingJoin = FALSE, !.awaitingSync = FALSE]
      rejected == Answer(Apply(s, "log/new-id-failed"), [CurrentGeneration(This, g, NoMember) EXCEPT
                           !.error = GroupError(s.failing), !.members = NoEntries])
  IN PersistOrForget([rejected EXCEPT !.answers = @ \cup FencedParked(g.members[old], old),
                         !.group.members[old] = RestartTimer(m), !.failing = NoError],
            s.failing)

\* The new id is stored; the answer names who led before, so that nobody assigns again, or tells a
\* leader that it need not. GC:1053, 4.1 GMM:7274
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
      taken == {ReplaceMember(s, r, n) : n \in free \ IdsInLog(s.log)}
      \* 4.1 GMM:7274, GC:1053
      same == Apply(s, IF r.skips THEN "join/static-restarted" ELSE "join/static-unchanged")
      rebalance(rule) == UNION {PrepareRebalance(Apply(t, rule)) : t \in taken}
  IN IF StaticMemberId(g, r.instance) = RemovedId                                  \* GM:312
     THEN {Answer(Apply(s, "join/static-gone"),
                  JoinAnswer(This, "UNKNOWN_SERVER_ERROR", NoMember))}
     ELSE CASE g.state = "Stable" ->                                       \* GC:1090
                 (IF g.protocolName \in VoteWith(g, r)
                  THEN UNION {StoreNewId(same, r, n) : n \in free} ELSE {})
                 \cup (IF VoteWith(g, r) \ {g.protocolName} # {}
                       THEN rebalance("join/static-changed") ELSE {})
            [] g.state = "CompletingRebalance" ->                          \* GC:1098
                 rebalance("join/static-completing")
            [] OTHER -> {Apply(t, "join/static-preparing") : t \in taken}  \* GC:1102

=============================================================================

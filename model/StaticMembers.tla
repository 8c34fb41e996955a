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
TurnAway(s, r) ==
  LET known == r.memberId \in DOMAIN s.group.members
      own == IF known THEN s.group.members[r.memberId].instance ELSE NoInstance
      instance == IF ForgetsTurnedAway THEN own ELSE r.instance
      kept == IF ForgetsTurnedAway THEN [s EXCEPT !.group.pending = Without(@, {r.memberId})] ELSE s
  IN {Answer(ForgetInstance(t, instance), Refusal("GROUP_MAX_SIZE_REACHED", NoMember))
       : t \in IF known THEN DropMembers(kept, {r.memberId}) ELSE {kept}}

\* Names that the one who takes a member's place may be given.
FreeBut(g, old) == Names \ ((DOMAIN g.members \cup DOMAIN g.pending) \ {old})

FencedParked(m, n) ==
  (IF m.awaitingJoin THEN {JoinAnswer(Parked("JoinGroup", n), "FENCED_INSTANCE_ID", n)} ELSE {})
  \cup (IF m.awaitingSync THEN {SyncAnswer(Parked("SyncGroup", n), "FENCED_INSTANCE_ID")} ELSE {})

\* The member goes on under a new id, its new JoinGroup parked; who waits under the old is told. If
\* the generation waits for its SyncGroup, it does so under the old id. GM:305, 4.1 CG:577
TakePlace(s, r, n) ==
  LET g == s.group
      old == StandsFor(g, r.instance)
      m == g.members[old]
      renewed == RearmSession([m EXCEPT !.awaitingJoin = FALSE, !.awaitingSync = FALSE,
                                        !.told = FALSE, !.protocols = r.protocols,
                                        !.isNew = @ /\ ReturnedStayNew, !.unsynced = FALSE])
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
          !.memberId = IF @ # old THEN @ ELSE IF ReturnedAreOthers THEN NoMember ELSE n,
          !.of = IF @ = old THEN NoMember ELSE @,
          !.members = [k \in DOMAIN @ |->
            [@[k] EXCEPT !.memberId = IF @ = old THEN GoneId ELSE @]],
          !.told = IF @ = old THEN GoneId ELSE @,
          !.leader = IF @ = old THEN GoneId ELSE @,
          !.assignments = Without(@, {old})]]]

\* In Stable: whether the vote may go to the same protocol as before, and to another.
VotedBy(g, r) ==
  SelectProtocol([g.members EXCEPT ![StandsFor(g, r.instance)].protocols = r.protocols])

\* The new id cannot be stored: all is as it was, but that nobody waits under the old one any more,
\* and its session begins anew. 4.1 GMM:7252
NotReplaced(s, old) ==
  LET g == s.group
      m == [g.members[old] EXCEPT !.awaitingJoin = FALSE, !.awaitingSync = FALSE]
      told == Answer(Apply(s, "log/new-id-failed"), [CurrentGeneration(This, g, NoMember) EXCEPT
                           !.error = GroupError(s.failing), !.members = NoEntries])
  IN Settle([told EXCEPT !.answers = @ \cup FencedParked(g.members[old], old),
                         !.group.members[old] = RearmSession(m), !.failing = Fine],
            s.failing)

\* The new id is stored; the answer names who led before, so that nobody assigns again, or tells a
\* leader that it need not. GC:1053, 4.1 GMM:7274
StoreNewId(s, r, n) ==
  LET led == s.group.leader
      old == StandsFor(s.group, r.instance)
      t == [TakePlace(s, r, n) EXCEPT !.group.members[n].sessionLeft = SessionTicks]
  IN IF UndoesFailures /\ s.failing # Fine THEN NotReplaced(s, old)
     ELSE AppendToLog(t, [NoEntry EXCEPT
       !.kind = "static", !.told = n, !.memberId = n,
       !.replaced = IF s.failing = Fine THEN @ ELSE old,
       !.wasTold = s.failing = Fine \/ s.group.members[old].told,
       !.offered = IF s.failing = Fine THEN @ ELSE r.protocols,
       !.current = r.skips, !.leader = IF s.holding /\ led = old THEN GoneId ELSE led])

ComeBack(s, r) ==
  LET g == s.group
      free == FreeBut(g, StandsFor(g, r.instance))
      taken == {TakePlace(s, r, n) : n \in free \ InLog(s.log)}
      \* 4.1 GMM:7274, GC:1053
      same == Apply(s, IF r.skips THEN "join/static-restarted" ELSE "join/static-unchanged")
      rebalance(rule) == UNION {PrepareRebalance(Apply(t, rule)) : t \in taken}
  IN IF StandsFor(g, r.instance) = GoneId                                  \* GM:312
     THEN {Answer(Apply(s, "join/static-gone"),
                  JoinAnswer(This, "UNKNOWN_SERVER_ERROR", NoMember))}
     ELSE CASE g.state = "Stable" ->                                       \* GC:1090
                 (IF g.protocolName \in VotedBy(g, r)
                  THEN UNION {StoreNewId(same, r, n) : n \in free} ELSE {})
                 \cup (IF VotedBy(g, r) \ {g.protocolName} # {}
                       THEN rebalance("join/static-changed") ELSE {})
            [] g.state = "CompletingRebalance" ->                          \* GC:1098
                 rebalance("join/static-completing")
            [] OTHER -> {Apply(t, "join/static-preparing") : t \in taken}  \* GC:1102

=============================================================================

------------------------------- MODULE Timers --------------------------------
(* Time passes: every timer has less left, and fires with nothing left.       *)
EXTENDS Rebalance, Retention

\* The join timer of a forgotten group ends without effect while there is no group.
AgeForgotten(s, ticks) ==
  LET left == s.forgottenJoin - ticks
  IN [s EXCEPT !.forgottenJoin = IF @ = Stopped \/ (s.group = NoGroup /\ left =< 0)
                                 THEN Stopped ELSE left]

Elapse(before, ticks) ==
  LET s == AgeForgotten(AgeOffsets(before, ticks), ticks)
  IN IF s.group = NoGroup \/ ticks = 0 THEN s
  ELSE LET g == s.group
           less(left) == IF left = Stopped THEN Stopped ELSE left - ticks
       IN [s EXCEPT !.group =
             [g EXCEPT
                !.members = [n \in DOMAIN g.members |->
                  [g.members[n] EXCEPT !.sessionLeft = less(@)]],
                !.pending = [n \in DOMAIN g.pending |-> less(g.pending[n])],
                !.orphanedTimers = [k \in {left - ticks : left \in DOMAIN g.orphanedTimers} |->
                  g.orphanedTimers[k + ticks]],
                !.syncLeft = less(@),
                !.joinTimer.left = less(@)]]

Timers(s) ==
  LET g == s.group
  IN IF g = NoGroup THEN {}
  ELSE {[kind |-> "session", of |-> n, left |-> g.members[n].sessionLeft] : n \in DOMAIN g.members}
       \cup {[kind |-> "pending", of |-> n, left |-> g.pending[n]] : n \in DOMAIN g.pending}
       \cup {[kind |-> "orphaned", of |-> "", left |-> k] : k \in DOMAIN g.orphanedTimers}
       \cup {[kind |-> "join", of |-> "", left |-> g.joinTimer.left]}
       \cup {[kind |-> "syncs", of |-> "", left |-> g.syncLeft]}
       \cup {[kind |-> "forgotten", of |-> "", left |-> s.forgottenJoin]}

DueNext(s, ticks) ==
  LET due == {t \in Timers(s) : t.left # Stopped /\ t.left =< ticks}
  IN {t \in due : \A other \in due : t.left =< other.left}

\* The end of the rebalance timeout, or of one round of initial delay. DelayedJoin.scala:44,69
JoinTimerExpires(s) ==
  LET g == s.group
      timer == g.joinTimer
      round == Min(DelayTicks, timer.extension)
  IN IF timer.initial /\ g.newMemberAdded /\ timer.extension > 0
     THEN {[Apply(s, "time/initial-delay-extended") EXCEPT
              !.group.newMemberAdded = FALSE,
              !.group.joinTimer = [left |-> round, initial |-> TRUE, round |-> round,
                                   extension |-> Max(timer.extension - timer.round, 0)]]}
     ELSE CompleteJoin(Apply(s, IF timer.initial THEN "time/initial-delay-over"
                                ELSE "time/rebalance-timeout"))

\* 0.10.2 GC:739
OrphanedTimerExpires(s, left) ==
  LET orphanedTimers == s.group.orphanedTimers
      fewer == IF orphanedTimers[left] = 1 THEN Without(orphanedTimers, {left})
               ELSE With(orphanedTimers, left, orphanedTimers[left] - 1)
      t == [Apply(s, "time/orphaned-timer-expired") EXCEPT !.group.orphanedTimers = fewer]
  IN IF s.group.state \in {"CompletingRebalance", "Stable"} THEN PrepareRebalance(t) ELSE {t}

\* The timer of a static member that rejoined and waits for its append ends without effect.
SessionExpires(s, n) ==
  LET m == s.group.members[n]
  IN IF m.awaitingJoin /\ ~m.isNew THEN {[s EXCEPT !.group.members[n].sessionLeft = Stopped]}
     ELSE RemoveMember(Apply(s, IF m.isNew THEN "time/new-member-expired"
                                ELSE "time/session-expired"), n)

\* The timer runs while a member has not synced. It also removes static members. 4.1 GMM:7117
SyncTimerExpires(s) ==
  LET unsynced == {n \in DOMAIN s.group.members : s.group.members[n].unsynced}
      instances == {s.group.members[n].instance : n \in unsynced}
      rule == IF unsynced # {} THEN "time/syncs-expired" ELSE "time/replaced-member-sync-expired"
  IN UNION {PrepareRebalance([t EXCEPT !.group.statics = Without(@, instances)])
            : t \in DropMembers(Apply(s, rule), unsynced)}

\* It finds the Empty group that was created since, and Kafka throws half-way. 4.1 CG:1290,1464
ForgottenJoinExpires(s) ==
  [Apply(s, "time/removed-group-join-timer") EXCEPT !.group.generation = @ + 1,
                                                !.forgottenJoin = Stopped]

\* A timer that has nothing left. GC:1278,1282
Fire(s, timer) ==
  CASE timer.kind = "session" -> SessionExpires(s, timer.of)
    [] timer.kind = "pending" -> RemovePending(Apply(s, "time/pending-expired"), timer.of)
    [] timer.kind = "orphaned"   -> OrphanedTimerExpires(s, 0)
    [] timer.kind = "join"    -> JoinTimerExpires(s)
    [] timer.kind = "syncs"   -> SyncTimerExpires(s)
    [] timer.kind = "forgotten" -> {ForgottenJoinExpires(s)}

RECURSIVE PassTime(_, _)
PassTime(s, ticks) ==
  LET due == IF s.active THEN DueNext(s, ticks) ELSE {}
      first == (CHOOSE t \in due : TRUE).left
  IN IF ~s.active THEN {AgeOffsets(s, ticks)}
     ELSE IF due = {} THEN {Elapse(s, ticks)}
     ELSE UNION {UNION {PassTime(t, ticks - first) : t \in Fire(Elapse(s, first), timer)}
                 : timer \in due}

==============================================================================

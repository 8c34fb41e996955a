------------------------------ MODULE Canonical ------------------------------
(* The canonical form of a state. It distinguishes a few generations only:    *)
(* what counts is whether two are equal, and whether one is the first.        *)
(* Assignments of removed members, and timers where no time passes, are       *)
(* dropped. Outcomes gives the states in which a step may end.                *)
EXTENDS Timers, Waiting

Untimed(g) ==
  [g EXCEPT
     !.members = [n \in DOMAIN g.members |->
       [g.members[n] EXCEPT !.sessionLeft = Stopped, !.unsynced = FALSE]],
     !.syncLeft = Stopped,
     !.lostSync = FALSE,
     !.pending = [n \in DOMAIN g.pending |-> Forever],
     !.orphanedTimers = NoEntries,
     !.joinTimer = IF @ = NoTimer THEN @
                   ELSE IF @.initial
                   THEN [@ EXCEPT !.left = g.joinTimer.round, !.extension = Forever]
                   ELSE [NoTimer EXCEPT !.left = Forever]]

\* Generations are counted from `cut` on. Member ids that are not `known` become RemovedId.
CanonicalAppend(a, known, cut) ==
  LET answers == a.kind = "static" /\ a.answer # NoEntries
      \* No rule reads the ids in its response. Members under those names are loaded from the log.
      gone == a.kind = "static" /\ a.memberId = NoMember
      named == IF gone THEN {NoMember} ELSE known \cup {NoMember}
      Known(n) == IF n \in named THEN n ELSE RemovedId
  IN [a EXCEPT !.generation = Max(@ - cut, 0),
               !.assignments = Without(@, DOMAIN @ \ known),
               !.leader = Known(@), !.newId = Known(@),
               !.answer = IF ~answers THEN @
                          ELSE [@ EXCEPT !.generation = 1,
                                         !.leader = Known(@), !.memberId = Known(@)],
               !.members = [k \in DOMAIN @ |-> [@[k] EXCEPT !.memberId = Known(@)]]]

CanonicalState(s) ==
  LET none == s.group = NoGroup
      g == IF none \/ Timed THEN s.group ELSE Untimed(s.group)
      cut == IF none THEN 0 ELSE Max(g.generation - Generations, 0)
      known == IF none THEN {} ELSE DOMAIN g.members \cup DOMAIN g.pending
      appends == [i \in DOMAIN s.appends |-> CanonicalAppend(s.appends[i], known, cut)]
      forgotten == IF Timed THEN s.forgottenJoin ELSE Stopped
  IN IF none THEN [s EXCEPT !.appends = appends, !.forgottenJoin = forgotten]
     ELSE [s EXCEPT
             !.forgottenJoin = forgotten,
             !.group = [g EXCEPT !.generation = @ - cut],
             !.log.group = IF @ = NoRecord THEN @
                           ELSE [@ EXCEPT !.generation = Min(@, Generations)],
             !.appends = appends]

\* Steps that differ only in the rules are the same, unless the rules are observed.
Observe(s) == IF Observed THEN s ELSE [s EXCEPT !.rules = {}]

\* The states in which a step may end. Timers with nothing left fire before it ends.
Outcomes(steps, ticks) ==
  LET ended == UNION {PassTime(s, ticks) : s \in steps}
  IN {t \in {Observe(CanonicalState(StillDeferred(s))) : s \in ended} :
        Len(t.appends) =< MaxHeld}

==============================================================================

------------------------------ MODULE Canonical -------------------------------
(* What is the same about two states: which number a generation has (whether  *)
(* two are equal counts, and whether one is the first), what was assigned to  *)
(* somebody who is gone, and time, where none passes. How a step may end.     *)
EXTENDS Timers

Untimed(g) ==
  [g EXCEPT
     !.members = [n \in DOMAIN g.members |->
       [g.members[n] EXCEPT !.sessionLeft = Stopped, !.unsynced = FALSE]],
     !.syncLeft = Stopped,
     !.pending = [n \in DOMAIN g.pending |-> Forever],
     !.ghosts = NoEntries,
     !.joinTimer = IF @ = NoTimer THEN @
                   ELSE IF @.initial
                   THEN [@ EXCEPT !.left = g.joinTimer.round, !.extension = Forever]
                   ELSE [NoTimer EXCEPT !.left = Forever]]

Settled(s) ==
  IF s.group = NoGroup THEN s
  ELSE LET g == IF Timed THEN s.group ELSE Untimed(s.group)
           cut == Max(g.generation - Generations, 0)
           known == DOMAIN g.members \cup DOMAIN g.pending
           Known(n) == IF n \in known \cup {NoMember} THEN n ELSE GoneId
       IN [s EXCEPT
             !.group = [g EXCEPT !.generation = @ - cut],
             !.log.group = IF @ = NoRecord THEN @
                           ELSE [@ EXCEPT !.generation = Min(@, Generations)],
             !.appends = [i \in DOMAIN @ |->
               [s.appends[i] EXCEPT !.generation = Max(@ - cut, 0),
                                    !.assignments = Without(@, DOMAIN @ \ known),
                                    !.leader = Known(@), !.told = Known(@)]]]

\* How a step may end: timers of no length fire before it is done.
Ends(steps, ticks) ==
  {t \in {Settled(u) : u \in UNION {PassTime(s, ticks) : s \in steps}} : Len(t.appends) =< MaxHeld}

=============================================================================

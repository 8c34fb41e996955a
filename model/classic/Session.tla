------------------------------- MODULE Session -------------------------------
(* The session timer of a member, and parked SyncGroup requests.              *)
EXTENDS State

\* While a request is parked the timer is stopped, except for a new member.
RestartTimer(m) ==
  [m EXCEPT !.sessionLeft =
     IF (m.awaitingJoin \/ m.awaitingSync) /\ ~m.isNew THEN Stopped ELSE SessionTicks]

\* GC:935
PropagateAssignment(s, error) ==
  LET g == s.group
      parked == {n \in DOMAIN g.members : g.members[n].awaitingSync}
      answer(n) ==
        IF error = "NONE"
        THEN [SyncAnswer(Parked("SyncGroup", n), error) EXCEPT
                !.protocolType = g.protocolType, !.protocolName = g.protocolName,
                !.assignment = g.members[n].assignment]
        ELSE SyncAnswer(Parked("SyncGroup", n), error)
  IN [s EXCEPT
        !.answers = @ \cup {answer(n) : n \in parked},
        !.group.members = [n \in DOMAIN g.members |->
          IF n \in parked THEN RestartTimer([g.members[n] EXCEPT !.awaitingSync = FALSE])
                          ELSE g.members[n]]]

==============================================================================

------------------------------- MODULE Records -------------------------------
(* The records of the group in the log.                                       *)
EXTENDS Session, Retention, Committed

\* A record is in the log as soon as it is appended, unless the append fails. Some errors come after
\* the leader's append. DelayedProduce:65
IsWritten(error) == error = NoError \/ (error = "REQUEST_TIMED_OUT" /\ LateErrors)

\* Of the protocols of a member a record has the chosen one. GMM:1256
RecordGroup(s, given) ==
  LET g == s.group
      named(p) == p.name = g.protocolName
  IN IF ~Logged THEN s
     ELSE [s EXCEPT !.log.emptied = FALSE, !.log.group =
             [generation |-> g.generation,
              protocolType |-> g.protocolType, protocolName |-> g.protocolName,
              leader |-> g.leader, emptyLeft |-> g.emptyLeft,
              members |-> [n \in DOMAIN g.members |->
                [protocols |-> SelectSeq(g.members[n].protocols, named),
                 instance |-> g.members[n].instance, assignment |-> given[n]]]]]

HasRecords(log) == log.offset # NoOffset \/ log.transaction # NoTransaction

\* The log after offsets in it are deleted, aborted or committed. 4.1 OMM:1148
Emptied(before, log) ==
  [log EXCEPT !.emptied = /\ EmptiedAreLoaded /\ log.group = NoRecord /\ ~HasRecords(log)
                          /\ before.emptied \/ HasRecords(before)]

\* What is left on the join timer of a group that is forgotten: it is kept by the group's id.
KeptJoinTimer(s) ==
  IF s.group.joinTimer = NoTimer THEN s.forgottenJoin ELSE s.group.joinTimer.left

\* A group that is not persisted is persisted now, or forgotten if the append fails: always if this
\* step created it, otherwise a record of another group may have persisted it. 4.1 CR:873
PersistOrForget(s, error) ==
  LET written == [s EXCEPT !.group.notPersisted = FALSE]
      forgotten == [Apply(s, "log/group-rolled-back") EXCEPT
                      !.group = NoGroup, !.forgottenJoin = KeptJoinTimer(s)]
  IN IF ~s.group.notPersisted THEN {s}
     ELSE IF error = NoError THEN {written}
     ELSE IF s.found THEN {written, forgotten} ELSE {forgotten}

\* No request waits for these two records. Only LeaveGroup returns their error.
\* GC:1213, 0.10.0 GMM:136
RecordEmpty(s) ==
  LET t == IF IsWritten(s.failing) THEN NoteWritten(RecordGroup(s, NoEntries)) ELSE s
  IN PersistOrForget([t EXCEPT !.failing = NoError], s.failing)
RemoveGroup(s) ==
  [s EXCEPT !.failing = NoError, !.log.group = IF IsWritten(s.failing) THEN NoRecord ELSE @]

==============================================================================

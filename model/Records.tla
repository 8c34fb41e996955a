------------------------------- MODULE Records -------------------------------
(* The records of the group in the log.                                       *)
EXTENDS Session, Retention, Committed

\* A record is in the log as soon as it is appended, unless the append fails. Of the protocols of a
\* member it has the chosen one. GMM:1256
RecordGroup(s, given) ==
  LET g == s.group
      named(p) == p.name = g.protocolName
  IN IF ~Logged THEN s
     ELSE [s EXCEPT !.log.group =
             [generation |-> g.generation,
              protocolType |-> g.protocolType, protocolName |-> g.protocolName,
              leader |-> g.leader, emptyLeft |-> g.emptyLeft,
              members |-> [n \in DOMAIN g.members |->
                [protocols |-> SelectSeq(g.members[n].protocols, named),
                 instance |-> g.members[n].instance, assignment |-> given[n]]]]]

\* A group that is not persisted is persisted now, or forgotten if the append fails: always if this
\* step created it, otherwise a record of another group may have persisted it. 4.1 CR:873
PersistOrForget(s, error) ==
  LET written == [s EXCEPT !.group.notPersisted = FALSE]
      forgotten == [Apply(s, "log/group-forgotten") EXCEPT !.group = NoGroup]
  IN IF ~s.group.notPersisted THEN {s}
     ELSE IF error = NoError THEN {written}
     ELSE IF s.found THEN {written, forgotten} ELSE {forgotten}

\* No request waits for these two records. Only LeaveGroup returns their error.
\* GC:1213, 0.10.0 GMM:136
RecordEmpty(s) ==
  PersistOrForget(IF s.failing = NoError THEN NoteWritten(RecordGroup(s, NoEntries))
                  ELSE [s EXCEPT !.failing = NoError],
                  s.failing)
RemoveGroup(s) ==
  IF s.failing = NoError THEN [s EXCEPT !.log.group = NoRecord] ELSE [s EXCEPT !.failing = NoError]

==============================================================================

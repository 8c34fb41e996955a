------------------------------- MODULE Records --------------------------------
(* The log as the group's records make it.                                    *)
EXTENDS Session, Retention, Committed

\* The log has what is appended at once, of what fails it has nothing; of a member's protocols
\* it has the one that was chosen. GMM:1256
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

\* A group of which nothing was written is written now, or forgotten if the append fails: surely if
\* it is of this very step, else it may have been written with another one. 4.1 CR:873
PersistOrForget(s, error) ==
  LET written == [s EXCEPT !.group.notPersisted = FALSE]
      forgotten == [Apply(s, "log/group-forgotten") EXCEPT !.group = NoGroup]
  IN IF ~s.group.notPersisted THEN {s}
     ELSE IF error = NoError THEN {written}
     ELSE IF s.found THEN {written, forgotten} ELSE {forgotten}

\* For these two nobody waits, nor is told if they fail, but who leaves. GC:1213, 0.10.0 GMM:136
RecordEmpty(s) ==
  PersistOrForget(IF s.failing = NoError THEN NoteWritten(RecordGroup(s, NoEntries)) ELSE [s EXCEPT !.failing = NoError],
         s.failing)
RemoveGroup(s) ==
  IF s.failing = NoError THEN [s EXCEPT !.log.group = NoRecord] ELSE [s EXCEPT !.failing = NoError]

=============================================================================

------------------------------ MODULE Committed ------------------------------
(* What requests that only read see while an append is not committed (4.1).   *)
EXTENDS State

\* While appends are held, requests read the state before the first of them. A group that was not
\* persisted before is not visible. 4.1 CR:1613
NoteWritten(s) ==
  LET g == s.before
      hidden == IF g = NoGroup THEN TRUE ELSE g.notPersisted
  IN IF ~ResponsesAreDeferred \/ ~s.holding \/ s.committed # AllCommitted THEN s
     ELSE [s EXCEPT !.committed =
             IF hidden THEN [AllCommitted EXCEPT !.visible = "nothing"]
             ELSE [AllCommitted EXCEPT !.visible = "newest", !.offset.at = g.offset.at]]

\* The group is removed. Until that is committed, its last state is visible.
NoteRemoved(s) ==
  IF s.committed.visible # "newest" THEN s
  ELSE [s EXCEPT !.committed.visible = "removed", !.committed.protocolType = s.group.protocolType]

\* The group that requests read.
CommittedGroup(s) ==
  CASE s.committed.visible = "everything" -> s.group
    [] s.committed.visible = "nothing"    -> NoGroup
    [] s.committed.visible = "newest"     -> [s.group EXCEPT !.offset = s.committed.offset]
    [] s.committed.visible = "removed"    ->
         [NewGroup EXCEPT !.protocolType = s.committed.protocolType, !.offset = s.committed.offset]

\* The steps of a request that only reads, on the committed group.
ReadsCommitted(s, Reads(_)) ==
  IF s.committed = AllCommitted THEN Reads(s)
  ELSE {[t EXCEPT !.group = s.group]
        : t \in Reads([Apply(s, "log/read-committed") EXCEPT !.group = CommittedGroup(s)])}

==============================================================================

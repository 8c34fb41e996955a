------------------------------ MODULE Committed -------------------------------
(* What is read while something is written that is not committed.              *)
EXTENDS State

\* While appends are held, what was there before is what is read. Of a group of which nothing was
\* written before nothing shows. 4.1 CR:1613
NoteWritten(s) ==
  LET g == s.before
      hidden == IF g = NoGroup THEN TRUE ELSE g.unwritten
  IN IF ~AnswersWait \/ ~s.holding \/ s.committed # Everything THEN s
     ELSE [s EXCEPT !.committed =
             IF hidden THEN [Everything EXCEPT !.shows = "nothing"]
             ELSE [Everything EXCEPT !.shows = "newest", !.offset.at = g.offset.at]]

\* The group is removed; but as long as that is not committed, it shows as it was at last.
NoteRemoved(s) ==
  IF s.committed.shows # "newest" THEN s
  ELSE [s EXCEPT !.committed.shows = "removed", !.committed.protocolType = s.group.protocolType]

\* The group that is read.
Shown(s) ==
  CASE s.committed.shows = "everything" -> s.group
    [] s.committed.shows = "nothing"    -> NoGroup
    [] s.committed.shows = "newest"     -> [s.group EXCEPT !.offset = s.committed.offset]
    [] s.committed.shows = "removed"    ->
         [NewGroup EXCEPT !.protocolType = s.committed.protocolType, !.offset = s.committed.offset]

\* The steps of a request that only reads, made of what is read.
Read(s, Reads(_)) ==
  IF s.committed = Everything THEN Reads(s)
  ELSE {[t EXCEPT !.group = s.group]
        : t \in Reads([Apply(s, "log/read-committed") EXCEPT !.group = Shown(s)])}

=============================================================================

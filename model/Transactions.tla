----------------------------- MODULE Transactions -----------------------------
(* Offsets that wait for their marker, and the marker; what deletions leave.  *)
EXTENDS Log

\* Whether a TxnOffsetCommit's member id is looked at, and its generation; in 4.1 both are if
\* anything is named. 4.1 CG:847
NamesAnything(r) == r.memberId # NoMember \/ r.instance # NoInstance \/ r.generation >= 0
NamesMember(r) == IF TxnChecksMembers THEN NamesAnything(r) ELSE r.memberId # NoMember
NamesGeneration(r) == IF TxnChecksMembers THEN NamesAnything(r) ELSE r.generation >= 0

\* Where what fails is undone, nothing becomes pending with it. GMM:340
StoreTransaction(s, r) ==
  IF r.tooLong
  THEN {AnswerWhenCommitted(Apply(s, "commit/metadata-too-large"), "TxnOffsetCommit",
              ErrorAnswer(This, "OFFSET_METADATA_TOO_LARGE"))}
  ELSE LET offset == Committed(6, r)
           begun == [s EXCEPT !.group.transaction =
                                [status |-> "held", newer |-> TRUE, offset |-> offset],
                              !.group.awaitsMarker = TRUE]
       IN AppendToLog(IF FailuresAreRolledBack /\ s.failing # NoError THEN s ELSE begun,
                      [NoAppend EXCEPT !.kind = "transaction", !.offset = offset])

\* The offset can be read if it is committed, and no newer one has been. GM:660
EndTransaction(s, committed) ==
  LET readable == committed /\ s.group.transaction.newer
  IN [s EXCEPT !.group.offset = IF readable THEN s.group.transaction.offset ELSE @,
               !.group.transaction = NoTransaction, !.group.awaitsMarker = FALSE]

\* The marker is in the log, whoever coordinates the group, and shows it.
WriteMarker(s, committed) ==
  LET t == IF s.group = NoGroup THEN s ELSE [s EXCEPT !.group.notPersisted = FALSE]
  IN [NoteWritten(t) EXCEPT !.log.offset = IF committed /\ s.log.transaction.newer
                              THEN s.log.transaction.offset ELSE @,
               !.log.transaction = NoTransaction]

\* The marker cannot be written, and the transaction goes on. 4.1 CR:1187
MarkerFails(s) ==
  LET t == Answer([s EXCEPT !.failing = NoError], ErrorAnswer(This, s.failing))
  IN IF s.group = NoGroup THEN {t} ELSE PersistOrForget(t, s.failing)

\* Whether there is an offset to remove, where one that is pending counts.
HasOffset(g) ==
  g.offset # NoOffset \/ (TombstonesEndTransactions /\ g.transaction # NoTransaction)

\* What removes anything is written, and if that fails nothing is removed. 4.1 CR:873
RemovalFails(s, removes) == RemovalsAreWritten /\ removes /\ s.failing # NoError
RemovalIsRolledBack(s) == PersistOrForget([s EXCEPT !.failing = NoError], s.failing)

\* The records that remove the offset and the group, in one append for which nobody waits. GMM:843
WriteRemoval(s, offset, group) ==
  LET recorded == group /\ (RemovalsAreWritten \/ s.group.generation > 0)
  IN IF ~offset /\ ~recorded THEN s
     ELSE IF s.failing # NoError THEN [s EXCEPT !.failing = NoError]
     ELSE IF ~Logged THEN NoteWritten(s)
     ELSE [NoteWritten(s) EXCEPT
             !.log.group = IF recorded THEN NoRecord ELSE @,
             !.log.offset = IF offset THEN NoOffset ELSE @,
             !.log.transaction =
               IF ~offset THEN @
               ELSE IF TombstonesEndTransactions THEN NoTransaction  \* 4.1 OMM:1184
               ELSE [@ EXCEPT !.newer = @ \/ s.log.transaction.status = "pending"]]

=============================================================================

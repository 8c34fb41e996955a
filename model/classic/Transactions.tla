---------------------------- MODULE Transactions -----------------------------
(* Offsets of transactions, the markers that end them, and removals.          *)
EXTENDS Log

\* Whether a TxnOffsetCommit checks the member id, and the generation. 4.1 checks both if the
\* request names any of them. 4.1 CG:847
NamesAnything(r) == r.memberId # NoMember \/ r.instance # NoInstance \/ r.generation >= 0
NamesMember(r) == IF TxnChecksMembers THEN NamesAnything(r) ELSE r.memberId # NoMember
NamesGeneration(r) == IF TxnChecksMembers THEN NamesAnything(r) ELSE r.generation >= 0

\* Where failures are rolled back, a failed append leaves nothing pending. GMM:340
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

\* A committed transaction makes its offset readable, unless a newer one was committed. GM:660
EndTransaction(s, committed) ==
  LET readable == committed /\ s.group.transaction.newer
  IN [s EXCEPT !.group.offset = IF readable THEN s.group.transaction.offset ELSE @,
               !.group.transaction = NoTransaction, !.group.awaitsMarker = FALSE]

\* The marker is in the log, whichever broker coordinates the group, and persists the group.
WriteMarker(s, committed) ==
  LET t == IF s.group = NoGroup THEN s ELSE [s EXCEPT !.group.notPersisted = FALSE]
      offset == IF committed /\ s.log.transaction.newer THEN s.log.transaction.offset
                ELSE s.log.offset
  IN [NoteWritten(t) EXCEPT
        !.log = Emptied(@, [@ EXCEPT !.offset = offset, !.transaction = NoTransaction])]

\* The marker cannot be written, and the transaction stays open. 4.1 CR:1187
MarkerFails(s) ==
  LET t == Answer([s EXCEPT !.failing = NoError], ErrorAnswer(This, s.failing))
  IN IF s.group = NoGroup THEN {t} ELSE PersistOrForget(t, s.failing)

\* Whether there is an offset to remove. In 4.1 a pending one counts.
HasOffset(g) ==
  g.offset # NoOffset \/ (TombstonesEndTransactions /\ g.transaction # NoTransaction)

\* In 4.1 a failed append removes nothing. CR:873
RemovalFails(s, removes) == RemovalsAreWritten /\ removes /\ s.failing # NoError
RemovalIsRolledBack(s) == PersistOrForget([s EXCEPT !.failing = NoError], s.failing)

\* The tombstones of the offset and the group, in one append that no request waits for. GMM:843
WriteRemoval(s, offset, group) ==
  LET recorded == group /\ (RemovalsAreWritten \/ s.group.generation > 0)
  IN IF ~offset /\ ~recorded THEN s
     ELSE IF ~IsWritten(s.failing) THEN [s EXCEPT !.failing = NoError]
     ELSE IF ~Logged THEN NoteWritten(s)
     ELSE LET pending == s.log.transaction
              log == [s.log EXCEPT
                        !.offset = IF offset THEN NoOffset ELSE @,
                        !.transaction =
                          IF ~offset THEN @
                          ELSE IF TombstonesEndTransactions THEN NoTransaction  \* 4.1 OMM:1184
                          ELSE [@ EXCEPT !.newer = @ \/ pending.status = "pending"]]
          IN [NoteWritten(s) EXCEPT
                !.failing = NoError,
                !.log = IF recorded THEN [log EXCEPT !.group = NoRecord, !.emptied = FALSE]
                        ELSE Emptied(@, log)]

==============================================================================

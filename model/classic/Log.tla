--------------------------------- MODULE Log ---------------------------------
(* An append to the log is a step of its own: it completes at once, or when it is *)
(* released, or fails.                                                            *)
EXTENDS Rebalance

\* The error that OffsetCommit and SyncGroup return for a failed append. GMM:283,430, 4.1 GMM:7533
CommitError(error) ==
  IF error = "NOT_ENOUGH_REPLICAS" /\ ReplicasAreMapped THEN "COORDINATOR_NOT_AVAILABLE"
  ELSE error
GroupError(error) ==
  IF error = "REQUEST_TIMED_OUT" THEN "REBALANCE_IN_PROGRESS"
  ELSE CommitError(error)

\* Whether the group still waits for the assignments.
Awaits(s, entry) ==
  IF s.group = NoGroup THEN FALSE
  ELSE s.group.state = "CompletingRebalance" /\ s.group.generation = entry.generation

\* The members get their assignments, if the group still waits for them. GC:427
CompleteGroupAppend(s, entry) ==
  LET g == s.group
      given == [s EXCEPT !.group.members =
                  [n \in DOMAIN g.members |->
                     [g.members[n] EXCEPT !.assignment = entry.assignments[n]]]]
  IN IF ~Awaits(s, entry) THEN {Apply(s, "log/assignments-outdated")}
     ELSE IF entry.error # NoError
     THEN MaybePrepareRebalance(PropagateAssignment(Apply(s, "log/assignments-failed"),
                                                    GroupError(entry.error)))
     ELSE {[PropagateAssignment(Apply(given, "log/assignments-stored"), "NONE")
              EXCEPT !.group.state = "Stable"]}

AnswerCommit(s, entry, place) ==
  LET answer == ErrorAnswer(IF place = 0 THEN This ELSE Held, CommitError(entry.error))
      plain == entry.kind = "offsets"
      stored == IF entry.afterUnload THEN "log/offsets-of-unloaded-group"
                ELSE IF plain THEN "log/offsets-stored" ELSE "log/transaction-stored"
      failed == IF plain THEN "log/offsets-failed" ELSE "log/transaction-failed"
  IN IF entry.error = NoError
     THEN AnswerWhenCommitted(Apply(s, stored),
                              IF plain THEN "OffsetCommit" ELSE "TxnOffsetCommit", answer)
     ELSE Answer(Apply(s, failed), answer)

\* A pending offset of a transaction is older now. After an unload only the response is left.
\* GMM:405
CompleteOffsetsAppend(s, entry, place) ==
  LET fine == entry.error = NoError
      t == [s EXCEPT !.group.offset = IF fine THEN entry.offset ELSE @,
                     !.group.unstable = IF @ = place THEN 0 ELSE @,
                     !.group.transaction.newer =
                       @ /\ ~(fine /\ s.group.transaction.status = "pending")]
  IN {AnswerCommit(IF entry.afterUnload THEN s ELSE t, entry, place)}

\* The offset becomes pending, unless a marker or a newer commit of the transaction came first.
\* GMM:408, GM:632
CompleteTransactionAppend(s, entry, place) ==
  LET t == IF entry.error = NoError
           THEN [s EXCEPT !.group.transaction.status = IF @ = "held" THEN "pending" ELSE @]
           ELSE IF FailuresAreRolledBack THEN s
           ELSE [s EXCEPT !.group.transaction = NoTransaction, !.group.awaitsMarker = FALSE]
  IN {AnswerCommit(IF entry.afterUnload THEN s ELSE t, entry, place)}

\* The member gets its old id back but keeps the protocols of the new request. If it has rejoined
\* once more since, Kafka throws after that, and its parked JoinGroup is dropped. GC:1061
RollBackNewId(s, entry) ==
  LET g == s.group
      n == entry.memberId
      old == entry.replaced
      back == [g.members[n] EXCEPT !.protocols = entry.offered, !.awaitingJoin = FALSE]
      m == RestartTimer([back EXCEPT !.awaitingSync = FALSE, !.idKnown = entry.idWasKnown])
  IN IF n # entry.newId
     THEN [Apply(s, "log/new-id-outdated") EXCEPT !.group.members[n] = back]
     ELSE
     [Answer(Apply(s, "log/new-id-failed"), [CurrentGeneration(This, g, NoMember) EXCEPT
                   !.error = GroupError(entry.error), !.leader = entry.leader,
                   !.members = NoEntries])
        EXCEPT !.group.members = With(Without(@, {n}), old, m),
               !.group.leader = IF @ = n THEN old ELSE @,
               !.group.statics = With(@, m.instance, old)]

\* The response to a static member that rejoined, once its new id is stored.
NewIdAnswer(to, g, entry) ==
  LET leads == entry.current /\ g.leader = entry.newId
  IN [CurrentGeneration(to, g, entry.newId) EXCEPT
        !.leader = IF entry.current THEN g.leader ELSE entry.leader,
        !.skips = leads,
        !.members = IF leads THEN ListedMembers(g) ELSE NoEntries]

\* After an unload only the response is left.
AnswerAfterUnload(s, entry) ==
  IF entry.error = NoError THEN Answer(Apply(s, "log/new-id-stored"), entry.answer)
  ELSE Answer(Apply(s, "log/new-id-failed"), [entry.answer EXCEPT
                    !.error = GroupError(entry.error), !.leader = entry.leader,
                    !.memberId = NoMember, !.members = NoEntries])

\* A static member that rejoined is answered if it still waits. GC:1073
CompleteStaticAppend(s, entry) ==
  LET g == s.group
      n == entry.memberId
      leads == entry.current /\ g.leader = n
      outdated == {Apply(s, "log/new-id-outdated")}
  IN IF entry.afterUnload THEN {AnswerAfterUnload(s, entry)}
     ELSE IF n \notin Members(g) THEN outdated
     ELSE IF entry.error # NoError THEN {RollBackNewId(s, entry)}
     ELSE IF ~g.members[n].awaitingJoin THEN outdated
     \* Kafka fails to list the members. 4.1 CG:1311
     ELSE IF leads /\ g.state = "PreparingRebalance" THEN outdated
     ELSE {[Answer(Apply(s, "log/new-id-stored"), NewIdAnswer(Parked("JoinGroup", n), g, entry))
              EXCEPT !.group.members[n].awaitingJoin = FALSE,
                     !.group.members[n].idKnown = @ \/ entry.newId = n]}

CompleteAppend(s, entry, place) ==
  CASE entry.kind = "group"       -> CompleteGroupAppend(s, entry)
    [] entry.kind = "static"      -> CompleteStaticAppend(s, entry)
    [] entry.kind = "offsets"     -> CompleteOffsetsAppend(s, entry, place)
    [] entry.kind = "transaction" -> CompleteTransactionAppend(s, entry, place)
    [] entry.kind = "answer"      -> {Answer(Apply(s, "log/deferred-response-sent"), entry.answer)}
    [] entry.kind \in {"request", "deletion"} -> {s}

AppendToLog(s, entry) ==
  LET members == s.group.members
      recorded ==
        IF ~IsWritten(s.failing) \/ ~Logged THEN s
        ELSE IF entry.kind = "group" THEN RecordGroup(s, entry.assignments)
        ELSE IF entry.kind = "static"
        THEN RecordGroup(s, [n \in DOMAIN members |-> members[n].assignment])
        ELSE IF entry.kind = "offsets"
        THEN [s EXCEPT !.log.offset = entry.offset, !.log.transaction.newer = FALSE,
                       !.log.emptied = FALSE]
        ELSE [s EXCEPT !.log.emptied = FALSE, !.log.transaction =
                [status |-> "pending", newer |-> TRUE, offset |-> entry.offset]]
      t == [(IF IsWritten(s.failing) THEN NoteWritten(recorded) ELSE recorded)
            EXCEPT !.failing = NoError]
      ends == [entry EXCEPT !.error = s.failing]
      \* Where responses are deferred, a failure takes effect at once, and so do offsets.
      atOnce == /\ ResponsesAreDeferred
                /\ s.failing # NoError \/ entry.kind \in {"offsets", "transaction"}
      appended == IF s.holding /\ ~atOnce THEN {[t EXCEPT !.appends = Append(@, ends)]}
                  ELSE CompleteAppend(t, ends, 0)
  IN UNION {PersistOrForget(u, s.failing) : u \in appended}

\* If the record of a new group fails, the JoinGroup that created the group gets the error, unless
\* it was answered. The id in that response belongs to no member. 4.1 GMM:6194
StoreNewGroup(s) ==
  LET forgotten == [Apply(s, "log/group-rolled-back") EXCEPT
                      !.failing = NoError, !.group = NoGroup,
                      !.forgottenJoin = KeptJoinTimer(s),
                      !.answers = {[a EXCEPT !.memberId = NoMember] : a \in @}]
  IN IF s.failing = NoError
     THEN NoteWritten([s EXCEPT !.log.emptied = FALSE,
                                !.log.group = IF Logged THEN NewRecord ELSE @])
     ELSE IF DOMAIN s.group.members = {} THEN forgotten
     ELSE Answer(forgotten, JoinAnswer(This, GroupError(s.failing), NoMember))

RECURSIVE CompleteFrom(_, _, _)
CompleteFrom(s, entries, place) ==
  IF place > Len(entries) THEN {s}
  ELSE UNION {CompleteFrom(t, entries, place + 1) : t \in CompleteAppend(s, entries[place], place)}

CompleteHeld(s) ==
  CompleteFrom([s EXCEPT !.appends = <<>>, !.holding = FALSE, !.committed = AllCommitted],
               s.appends, 1)

\* The leader's assignments are appended. A member that it left out gets an empty one. GC:415
StoreAssignments(s, given) ==
  AppendToLog(s, [NoAppend EXCEPT
    !.kind = "group", !.generation = s.group.generation,
    !.api = IF ResponsesAreDeferred THEN "SyncGroup" ELSE @,
    !.of = IF ResponsesAreDeferred THEN s.group.leader ELSE @,
    !.assignments = [n \in DOMAIN s.group.members |-> IF n \in DOMAIN given THEN given[n] ELSE ""]])

\* A group that has only offsets. In 0.10.0 it is Dead.
GroupOfOffsets(s) ==
  IF s.group # NoGroup THEN s
  ELSE [s EXCEPT !.group = [NewGroup EXCEPT !.state = IF EmptyGroupsDie THEN "Dead" ELSE "Empty",
                                            !.notPersisted = HidesUnpersisted]]

\* A commit takes the place of an earlier one that is not complete. GMM:340
StoreOffsets(s, r) ==
  IF r.tooLong
  THEN LET t == IF RefusedStayUnstable
                THEN [s EXCEPT !.group.unstable = Never] ELSE s
       IN {AnswerWhenCommitted(Apply(t, "commit/metadata-too-large"), "OffsetCommit",
              ErrorAnswer(This, "OFFSET_METADATA_TOO_LARGE"))}
  ELSE {IF s.holding /\ ~ResponsesAreDeferred
        THEN [t EXCEPT !.group.unstable = Len(t.appends)] ELSE t
        : t \in AppendToLog([s EXCEPT !.group.unstable = 0],
                            [NoAppend EXCEPT !.kind = "offsets", !.offset = Committed(5, r)])}

==============================================================================

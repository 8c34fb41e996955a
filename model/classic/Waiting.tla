------------------------------- MODULE Waiting -------------------------------
(* Requests and responses that wait until records are committed, and the error *)
(* that they get if the partition is lost before that.                         *)
EXTENDS Log

\* Whether a member's JoinGroup or SyncGroup is parked.
IsParked(s, api, n) ==
  IF n \notin Members(s.group) THEN FALSE
  ELSE IF api = "JoinGroup" THEN s.group.members[n].awaitingJoin
  ELSE s.group.members[n].awaitingSync

\* A request is parked while a record is not committed.
HoldRequest(s, api, n) ==
  IF s.committed = AllCommitted THEN s
  ELSE [s EXCEPT !.appends = Append(@, [NoAppend EXCEPT !.kind = "request", !.api = api, !.of = n])]

\* The entry of a parked request: without a member id once it was answered, under RemovedId if it is
\* never answered.
DueRequest(s, entry) ==
  LET answered == \E a \in s.answers :
                a.to = Parked(entry.api, entry.of) /\ a.error # "FENCED_INSTANCE_ID"
  IN IF entry.of \in {NoMember, RemovedId} THEN entry
     ELSE IF answered THEN [entry EXCEPT !.of = NoMember]
     ELSE IF ~IsParked(s, entry.api, entry.of) THEN [entry EXCEPT !.of = RemovedId]
     ELSE entry

StillDeferred(s) ==
  LET due == [i \in DOMAIN s.appends |-> DueRequest(s, s.appends[i])]
      waits(a) == ~(a.kind = "request" /\ a.of = NoMember)
  IN IF ~ResponsesAreDeferred THEN s ELSE [s EXCEPT !.appends = SelectSeq(due, waits)]

\* The error that a deferred response becomes. EndTxn returns NOT_LEADER_OR_FOLLOWER to the
\* transaction coordinator. 4.1 GCS:1996
NotCoordinatorAnswer(entry) ==
  CASE entry.api = "LeaveGroup"   ->
         [entry.answer EXCEPT !.error = "NOT_COORDINATOR", !.errors = <<>>]
    [] entry.api = "OffsetFetch"  ->
         [entry.answer EXCEPT !.error = "NOT_COORDINATOR", !.offset = -1]
    [] entry.api = "EndTxn"       -> [entry.answer EXCEPT !.error = "NOT_LEADER_OR_FOLLOWER"]
    [] entry.api = "DeleteGroups" -> [entry.answer EXCEPT !.each = {"NOT_COORDINATOR"}]
    [] entry.api = "OffsetDelete" ->
         [entry.answer EXCEPT !.error = "NOT_COORDINATOR", !.topics = {}]
    [] OTHER                      -> [entry.answer EXCEPT !.error = "NOT_COORDINATOR"]

\* A parked request gets the error, unless it was answered in this step.
FailRequest(s, api, n) ==
  LET to == IF n = RemovedId THEN Held ELSE Parked(api, n)
      answer == IF api = "JoinGroup" THEN JoinAnswer(to, "NOT_COORDINATOR", NoMember)
                ELSE SyncAnswer(to, "NOT_COORDINATOR")
      failed == Answer(s, answer)
  IN IF n = RemovedId THEN failed
     ELSE IF ~IsParked(s, api, n) THEN s
     ELSE IF api = "JoinGroup" THEN [failed EXCEPT !.group.members[n].awaitingJoin = FALSE]
     ELSE [failed EXCEPT !.group.members[n].awaitingSync = FALSE]

FailStatic(s, entry) ==
  LET n == entry.memberId
      refusal == [CurrentGeneration(Parked("JoinGroup", n), s.group, NoMember) EXCEPT
                    !.error = "NOT_COORDINATOR", !.leader = entry.leader, !.members = NoEntries]
  IN IF IsParked(s, "JoinGroup", n)
     THEN [Answer(s, refusal) EXCEPT !.group.members[n].awaitingJoin = FALSE]
     ELSE s

FailOne(s, entry) ==
  CASE entry.kind = "answer"  -> Answer(s, NotCoordinatorAnswer(entry))
    [] entry.kind = "deletion" ->
         Answer(s, [to |-> Held, error |-> "NONE", each |-> {"NOT_COORDINATOR"}])
    [] entry.kind = "request" -> FailRequest(s, entry.api, entry.of)
    [] entry.kind = "static"  -> FailStatic(s, entry)
    [] entry.kind = "group"   ->
         LET t == IF Awaits(s, entry) THEN PropagateAssignment(s, "NOT_COORDINATOR") ELSE s
         IN IF entry.of = NoMember THEN t ELSE FailRequest(t, "SyncGroup", entry.of)

RECURSIVE FailFrom(_, _, _)
FailFrom(s, entries, place) ==
  IF place > Len(entries) THEN s
  ELSE FailFrom(FailOne(s, entries[place]), entries, place + 1)

\* All that waits gets the error, in order.
FailDeferred(s) ==
  IF ~ResponsesAreDeferred THEN s
  ELSE LET t == ApplyIf(s, s.appends # <<>>, "log/deferred-responses-failed")
       IN [FailFrom([t EXCEPT !.appends = <<>>], s.appends, 1) EXCEPT !.committed = AllCommitted]

==============================================================================

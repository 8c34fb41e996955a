-------------------------------- MODULE State ---------------------------------
(* What a group, a member and an append are, and the answers to requests.     *)
EXTENDS Profile

NoMember  == ""        \* of a request: no member id
Instance  == "instance"     \* the group.instance.id of static members
UnknownInstance   == "no-instance"  \* a group.instance.id that no member has
NoInstance == ""       \* of a member or a request: no group.instance.id
RemovedId    == "gone"    \* an id that was a member's: no client here uses it again
UnknownId    == "nobody"  \* a member id that was never given out
Null      == "null"    \* a field of a request that is not set
GroupId   == "group"
Stopped   == -1        \* of a timer: it does not run
Forever   == 1000000   \* of a timer: longer than any test
NoOffset  == [at |-> -1, left |-> Forever, fixed |-> FALSE]
NoTimer   == [left |-> Stopped, initial |-> FALSE, round |-> 0, extension |-> 0]
NoGroup   == [state |-> "None"]
NoEntries == [n \in {} |-> 0]
NoError      == "NONE"    \* no error; of the next append: it will not fail
NoRecord  == [kind |-> "none"]
NewRecord == [generation |-> 0, protocolType |-> Null, protocolName |-> Null,
              leader |-> NoMember, emptyLeft |-> Stopped, members |-> [n \in {} |-> 0]]
NoTransaction == [status |-> "none", newer |-> FALSE, offset |-> NoOffset]
NoLog     == [group |-> NoRecord, offset |-> NoOffset, transaction |-> NoTransaction]

Range(metadata) == <<[name |-> "range", metadata |-> metadata]>>

\* The protocol lists that members send, the first when new.
OtherOffer == <<[name |-> "sticky", metadata |-> "one"]>> \o Range("one")
Offers == IF "metadata" \in Features THEN <<Range("one"), Range("two")>>
          ELSE IF Expires /\ DeletesOffsets THEN <<Range("to other"), Range("to topic")>>
          ELSE IF Expires THEN <<Range("to other")>>
          ELSE IF Administered THEN <<Range("to other")>> ELSE <<Range("one")>>

\* Of metadata: the topics that it subscribes to. What cannot be read may subscribe to any.
Topics    == {"topic", "other"}
TopicsOf(metadata) == IF metadata = "to other" THEN {"other"}
                      ELSE IF metadata = "to topic" THEN {"topic"} ELSE Topics

NewGroup ==
  [state          |-> "Empty",
   generation     |-> 0,
   protocolType   |-> Null,
   protocolName   |-> Null,
   leader         |-> NoMember,
   members        |-> NoEntries,  \* by name
   pending        |-> NoEntries,  \* names given out with MEMBER_ID_REQUIRED: time left
   joinTimer      |-> NoTimer,
   newMemberAdded |-> FALSE,
   offset         |-> NoOffset,   \* of the one partition there is
   unstable       |-> 0,          \* the held append of its last commit, 0 if none
   statics        |-> NoEntries,  \* by group.instance.id: the member it stands for
   notPersisted      |-> FALSE,      \* whether nothing was written of it, where that hides it
   syncLeft       |-> Stopped,    \* of the time to sync, while somebody has not
   lostSync       |-> FALSE,      \* whether it runs for an id that no member has any longer
   transaction    |-> NoTransaction,  \* of the one producer: none, held or pending
   awaitsMarker        |-> FALSE,      \* whether its marker is, even if its offsets were deleted
   emptyLeft      |-> Stopped,    \* of the retention of a group whose last member has gone
   subscribed     |-> Topics,     \* to what members have subscribed; all if that is not known
   orphanedTimers         |-> NoEntries]  \* by time left: session timers of members that are gone

NoAppend == [kind |-> "", generation |-> 0, offset |-> NoOffset, assignments |-> NoEntries,
            newId |-> NoMember, memberId |-> NoMember, leader |-> NoMember,
            replaced |-> NoMember, idWasKnown |-> TRUE,  \* of the id to go back to, if it fails
            offered |-> <<>>,  \* as it came back, to go back to as well
            error |-> NoError, afterUnload |-> FALSE,
            current |-> FALSE,  \* who leads by then is told, and a leader the members
            api |-> "", of |-> NoMember,  \* of a request that is parked: whose it is
            answer |-> NoEntries, members |-> <<>>]  \* and one that is held, to a batch that leaves

\* What is read: everything, as all is committed, or the newest group, nothing, or one removed.
AllCommitted == [visible |-> "everything", offset |-> NoOffset, protocolType |-> Null]

IsDead(g) == g = NoGroup \/ g.state = "Dead"
Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b
Without(f, names) == [n \in DOMAIN f \ names |-> f[n]]
With(f, n, value) == [k \in DOMAIN f \cup {n} |-> IF k = n THEN value ELSE f[k]]
StaticMemberId(g, instance) == IF instance \in DOMAIN g.statics THEN g.statics[instance] ELSE NoMember
\* 4.1 CG:805
IsUnknownInstance(g, r) ==
  ChecksInstances /\ r.instance # NoInstance /\ StaticMemberId(g, r.instance) = NoMember
\* GM:399
IsFenced(g, r) == StaticMemberId(g, r.instance) \notin {NoMember, r.memberId}
Members(g) == IF g = NoGroup THEN {} ELSE DOMAIN g.members
Pending(g) == IF g = NoGroup THEN {} ELSE DOMAIN g.pending
KnownIds(g)    == {n \in Members(g) : g.members[n].idKnown}
StaticId(g)  == IF g = NoGroup THEN NoMember ELSE StaticMemberId(g, Instance)
IdsInLog(l)   == IF l.group = NoRecord THEN {} ELSE DOMAIN l.group.members
FreeNames(g, l) == Names \ (Members(g) \cup Pending(g) \cup IdsInLog(l))
Answer(s, answer) == [s EXCEPT !.answers = @ \cup {answer}]
Apply(s, rule) == [s EXCEPT !.rules = @ \cup {rule}]
ApplyIf(s, holds, rule) == IF holds THEN Apply(s, rule) ELSE s

This      == <<"this", "">>
Held      == <<"held", "">>
Parked(api, n) == <<api, n>>

JoinAnswer(to, error, memberId) ==
  [to |-> to, error |-> error, memberId |-> memberId, generation |-> -1,
   protocolType |-> Null, protocolName |-> Null, leader |-> NoMember, members |-> NoEntries,
   skips |-> FALSE]

Refusal(error, memberId) ==
  [JoinAnswer(This, error, memberId) EXCEPT !.generation = RefusedGeneration]

SyncAnswer(to, error) ==
  [to |-> to, error |-> error, protocolType |-> Null, protocolName |-> Null, assignment |-> ""]

ErrorAnswer(to, error) == [to |-> to, error |-> error]

\* The request that a member has parked is replaced by a newer one.
DropParkedBefore(s, api, n) ==
  [s EXCEPT !.appends = [i \in DOMAIN @ |->
     [s.appends[i] EXCEPT !.of = IF @ = n /\ s.appends[i].api = api THEN RemovedId ELSE @]]]

\* An answer that waits until all that is written is committed. 4.1 CR:955
AnswerWhenCommitted(s, api, answer) ==
  IF s.committed = AllCommitted THEN Answer(s, answer)
  ELSE [s EXCEPT !.appends = Append(@, [NoAppend EXCEPT
          !.kind = "answer", !.api = api, !.answer = [answer EXCEPT !.to = Held]])]

=============================================================================

---------------------------- MODULE ConsumerGroup ----------------------------
(* One consumer group at its coordinator, as Apache Kafka keeps it: the        *)
(* classic protocol, dynamic members, versions 0.10.0, 0.10.2, 2.7, 4.1. Each   *)
(* process of the algorithm is an API of the coordinator, or something else    *)
(* that happens to it; the labels are the names of the Python functions that   *)
(* transcribe them, the headings those of their modules. TLC and the Python    *)
(* explorer are held to the same states.                                       *)
(*                                                                             *)
(* A step of the coordinator is a value on its way: a record of the variables. *)
(* An operator that takes one gives the set of steps that may follow where     *)
(* Kafka leaves something open: who leads after the leader left, a tied vote,  *)
(* the order of timers due together.                                           *)
(*                                                                             *)
(* Comments name the rules and cite Kafka's source, at tag 2.7.2 where they    *)
(* say no other: GC is GroupCoordinator.scala, GM GroupMetadata.scala, GMM     *)
(* GroupMetadataManager.scala. At branch 4.1 GMM is GroupMetadataManager.java, *)
(* CG ClassicGroup.java, OMM OffsetMetadataManager.java.                       *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Version,         \* of Kafka: "0.10.0", "0.10.2", "2.7" or "4.1"
  Names,           \* of members, strings; also how many there are at one time
  Features,        \* what there is besides members: clients.py says what each is
  SessionTicks,    \* the session timeout of every member
  RebalanceTicks,  \* the rebalance timeout of every member
  DelayTicks,      \* group.initial.rebalance.delay.ms
  MaxSize,         \* group.max.size
  NewMemberTicks   \* how long a new member may wait for its first generation

Timed       == "time" \in Features     \* else none but the initial delay ever passes
WithOffsets == "offsets" \in Features  \* are committed and fetched
Fails       == "failing-appends" \in Features  \* one append after the other may
Moves       == "failover" \in Features  \* the partition, and the coordinator is shut down
Logged      == Moves \/ "crashes" \in Features  \* what will be loaded one day
Transacted  == "transactions" \in Features    \* offsets are committed in transactions too
Administered == "administration" \in Features  \* groups are listed and deleted, and offsets

\* What differs between the versions.
Old == Version \in {"0.10.0", "0.10.2"}
GivesIdsFirst      == ~Old  \* MEMBER_ID_REQUIRED, pending members (KIP-394)
InitialDelay       == ~Old  \* from Empty the join phase lasts a delay (KIP-134)
NewMembersExpire   == ~Old  \* a parked JoinGroup is no life for ever (KAFKA-7610)
RemovedAreAnswered == ~Old  \* who is removed with its JoinGroup parked is told (KAFKA-7610)
ChecksEveryGroupId == ~Old  \* not only JoinGroup's
ChecksFirstOffer   == ~Old  \* of who joins an Empty group (KAFKA-6005)
SyncsByProtocol    == ~Old  \* SyncGroup says type and name (KIP-559)
LeavesInBatches    == ~Old  \* (KIP-345)
FetchesStable      == ~Old  \* (KIP-447)
AliveInCompleting  == ~Old  \* heartbeats count in CompletingRebalance (KAFKA-10134)
FiltersStates      == ~Old  \* ListGroups does (KIP-518)
DeletesGroups      == ~Old  \* (KIP-229)
DeletesOffsets     == ~Old  \* and knows what consumers subscribe to (KIP-496)
DroppedKeepTimers  == Old   \* and end one day: 0.10.2 GC:685,739
CompletingFirst    == Old   \* a commit is refused before its member is looked at
AliveInPreparing   == Version # "0.10.0"  \* heartbeats count in PreparingRebalance
EmptyDies          == Version = "0.10.0"  \* there is no Empty state (until KAFKA-2720)
Begins             == IF EmptyDies THEN "Stable" ELSE "Empty"
LoadedAreStatic    == Version = "2.7"  \* whoever is loaded from the log (until KAFKA-10497)
ReplicasAreMapped  == Version # "0.10.0"  \* NOT_ENOUGH_REPLICAS of an append
RebalanceTimeout   == IF Version = "0.10.0" THEN SessionTicks ELSE RebalanceTicks
RefusedGeneration  == IF Old THEN 0 ELSE -1
CompletingName     == IF Old THEN "AwaitingSync" ELSE "CompletingRebalance"
Newest == Version = "4.1"
EveryDelayGrows    == Newest   \* by who joins, not only that of the first generation
ExpiryEndsDelay    == Newest   \* if who expires is the last one waited for
SyncsExpire        == Newest   \* the time to sync is limited (KAFKA-12890)
SyncsAreAlive      == ~Newest  \* a SyncGroup in Stable starts the session anew
AssignmentsStay    == Newest   \* and show in every state, until a generation fails
LeavesTogether     == Newest   \* a batch leaves before the group is looked at
AnyUntilChosen     == Newest   \* SyncGroup's protocol is right where none is chosen
SaysNotFound       == Newest   \* of the group: OffsetCommit and DescribeGroups do
HidesUnwritten     == Newest   \* a group shows once anything was written to its partition
HoldsAppends       == ~Newest

\* Appends that are incomplete at a time.
MaxHeld == IF HoldsAppends /\ "held-appends" \in Features THEN 1 ELSE 0

NoMember  == ""        \* of a request: no member id
Instance  == "instance"     \* the group.instance.id of static members
NoneHas   == "no-instance"  \* a group.instance.id that no member has
NoInstance == ""       \* of a member or a request: no group.instance.id
GoneId    == "gone"    \* an id that was a member's: no client here uses it again
Nobody    == "nobody"  \* a member id that was never given out
Null      == "null"    \* a field of a request that is not set
GroupId   == "group"
Stopped   == -1        \* of a timer: it does not run
Forever   == 1000000   \* of a timer: longer than any test
NoOffset  == -1
NoTimer   == [left |-> Stopped, initial |-> FALSE, round |-> 0, extension |-> 0]
NoGroup   == [state |-> "None"]
NoEntries == [n \in {} |-> 0]
Fine      == "NONE"    \* no error; of the next append: it will not fail
NoRecord  == [kind |-> "none"]
NoTransaction == [is |-> "none", newer |-> FALSE]
NoLog     == [group |-> NoRecord, offset |-> NoOffset, transaction |-> NoTransaction]

Range(metadata) == <<[name |-> "range", metadata |-> metadata]>>

\* The protocol lists that members send, the first when new.
OtherOffer == <<[name |-> "sticky", metadata |-> "one"]>> \o Range("one")
Offers == IF "metadata" \in Features THEN <<Range("one"), Range("two")>>
          ELSE IF Administered THEN <<Range("to other")>> ELSE <<Range("one")>>

\* Of metadata: the topics that it subscribes to. What cannot be read may subscribe to any.
Topics    == {"topic", "other"}
TopicsOf(metadata) == IF metadata = "to other" THEN {"other"} ELSE Topics

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
   unwritten      |-> FALSE,      \* whether nothing was written of it, where that hides it
   syncLeft       |-> Stopped,    \* of the time to sync, while somebody has not
   transaction    |-> NoTransaction,  \* of the one producer: none, held or pending
   awaited        |-> FALSE,      \* whether its marker is, even if its offsets were deleted
   subscribed     |-> Topics,     \* to what members have subscribed; all if that is not known
   ghosts         |-> NoEntries]  \* by time left: session timers of members that are gone

NoEntry == [kind |-> "", generation |-> 0, offset |-> NoOffset, assignments |-> NoEntries,
            told |-> NoMember, memberId |-> NoMember, leader |-> NoMember,
            replaced |-> NoMember, wasTold |-> TRUE,  \* of the id to go back to, if it fails
            error |-> Fine, outlived |-> FALSE]

Gone(g) == g = NoGroup \/ g.state = "Dead"
Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b
Without(f, names) == [n \in DOMAIN f \ names |-> f[n]]
With(f, n, value) == [k \in DOMAIN f \cup {n} |-> IF k = n THEN value ELSE f[k]]
StandsFor(g, instance) == IF instance \in DOMAIN g.statics THEN g.statics[instance] ELSE NoMember
\* GM:399
Fenced(g, r) == StandsFor(g, r.instance) \notin {NoMember, r.memberId}
Answer(s, answer) == [s EXCEPT !.answers = @ \cup {answer}]

------------------------------------------------------------------------------
(* Answers, and the requests they are to: the one of this step, or a parked    *)
(* one of a member.                                                            *)

This      == <<"this", "">>
Parked(api, n) == <<api, n>>

JoinAnswer(to, error, memberId) ==
  [to |-> to, error |-> error, memberId |-> memberId, generation |-> -1,
   protocolType |-> Null, protocolName |-> Null, leader |-> NoMember, members |-> NoEntries]

Refusal(error, memberId) ==
  [JoinAnswer(This, error, memberId) EXCEPT !.generation = RefusedGeneration]

SyncAnswer(to, error) ==
  [to |-> to, error |-> error, protocolType |-> Null, protocolName |-> Null, assignment |-> ""]

ErrorAnswer(to, error) == [to |-> to, error |-> error]

------------------------------------------------------------------------------
(* session: a member's session timer, and parked SyncGroups                    *)

\* A parked request counts as a heartbeat, but not that of a new member.
RearmSession(m) ==
  [m EXCEPT !.sessionLeft =
     IF (m.awaitingJoin \/ m.awaitingSync) /\ ~m.isNew THEN Stopped ELSE SessionTicks]

\* GC:935
PropagateAssignment(s, error) ==
  LET g == s.group
      parked == {n \in DOMAIN g.members : g.members[n].awaitingSync}
      answer(n) ==
        IF error = "NONE"
        THEN [SyncAnswer(Parked("SyncGroup", n), error) EXCEPT
                !.protocolType = g.protocolType, !.protocolName = g.protocolName,
                !.assignment = g.members[n].assignment]
        ELSE SyncAnswer(Parked("SyncGroup", n), error)
  IN [s EXCEPT
        !.answers = @ \cup {answer(n) : n \in parked},
        !.group.members = [n \in DOMAIN g.members |->
          IF n \in parked THEN RearmSession([g.members[n] EXCEPT !.awaitingSync = FALSE])
                          ELSE g.members[n]]]

------------------------------------------------------------------------------
(* rebalance: how one begins, ends, gains and loses members                    *)

SupportedByAll(members, name) ==  \* GM:446
  \A n \in DOMAIN members : \E i \in DOMAIN members[n].protocols :
    members[n].protocols[i].name = name

MetadataOf(m, name) ==
  LET i == CHOOSE i \in DOMAIN m.protocols :
             /\ m.protocols[i].name = name
             /\ \A j \in DOMAIN m.protocols : j < i => m.protocols[j].name # name
  IN m.protocols[i].metadata

\* The protocols with the most votes, each member for the first that all support. GM:420
SelectProtocol(members) ==
  LET supported(n) == {i \in DOMAIN members[n].protocols :
                         SupportedByAll(members, members[n].protocols[i].name)}
      vote(n) == LET first == CHOOSE i \in supported(n) : \A j \in supported(n) : i =< j
                 IN members[n].protocols[first].name
      votes(name) == Cardinality({n \in DOMAIN members : vote(n) = name})
      voted == {vote(n) : n \in {m \in DOMAIN members : supported(m) # {}}}
  IN {name \in voted : \A other \in voted : votes(other) =< votes(name)}

\* In Stable not even a leader gets the list: it need not assign again. GC:327
CurrentGeneration(to, g, n) ==
  [JoinAnswer(to, "NONE", n) EXCEPT
     !.generation = g.generation, !.leader = g.leader,
     !.protocolType = g.protocolType, !.protocolName = g.protocolName,
     !.members = IF n = g.leader /\ g.state = "CompletingRebalance"
                 THEN [k \in DOMAIN g.members |-> MetadataOf(g.members[k], g.protocolName)]
                 ELSE NoEntries]

\* If the leader is among them any other may follow it. GM:259
DropMembers(s, names) ==
  LET left == Without(s.group.members, names)
      statics == s.group.statics
      g == [s.group EXCEPT
              !.members = left,
              !.statics = [i \in DOMAIN statics |->
                IF statics[i] \in names THEN GoneId ELSE statics[i]]]
      t == [s EXCEPT !.appends = [i \in DOMAIN @ |->
              [s.appends[i] EXCEPT !.memberId = IF @ \in names THEN NoMember ELSE @]]]
  IN IF s.group.leader \notin names THEN {[t EXCEPT !.group = g]}
     ELSE IF DOMAIN left = {} THEN {[t EXCEPT !.group = [g EXCEPT !.leader = NoMember]]}
     ELSE {[t EXCEPT !.group = [g EXCEPT !.leader = n]] : n \in DOMAIN left}

\* GM:350
ForgetInstance(s, instance) == [s EXCEPT !.group.statics = Without(@, {instance})]

\* The session timers of members that are dropped run on. 0.10.2 GC:685
KeepTimers(g, dropped) ==
  LET left == {g.members[n].sessionLeft : n \in dropped} \ {Stopped}
      count(k) == Cardinality({n \in dropped : g.members[n].sessionLeft = k})
      before(k) == IF k \in DOMAIN g.ghosts THEN g.ghosts[k] ELSE 0
  IN [k \in DOMAIN g.ghosts \cup left |-> before(k) + count(k)]

DropNotRejoined(s, absent) ==
  IF absent = {} THEN {s}
  ELSE LET kept == [s EXCEPT !.group.ghosts =
                      IF DroppedKeepTimers THEN KeepTimers(s.group, absent) ELSE @]
       IN DropMembers(kept, absent)

\* The member is answered, and its session starts anew.
Admitted(m) ==
  [RearmSession([m EXCEPT !.awaitingJoin = FALSE]) EXCEPT
     !.isNew = FALSE, !.told = @ \/ m.awaitingJoin, !.unsynced = SyncsExpire]

\* To what the members of a new generation have subscribed. GM:468
Subscribed(g, name) ==
  IF ~DeletesOffsets \/ g.protocolType # "consumer" THEN Topics
  ELSE UNION {TopicsOf(MetadataOf(g.members[n], name)) : n \in DOMAIN g.members}

BeginGeneration(s, name) ==
  LET g == [s.group EXCEPT !.state = "CompletingRebalance", !.protocolName = name,
                           !.subscribed = Subscribed(s.group, name)]
  IN [s EXCEPT
        !.answers = @ \cup
          {CurrentGeneration(Parked("JoinGroup", n), g, n)
            : n \in {k \in DOMAIN g.members : g.members[k].awaitingJoin}},
        !.group = [g EXCEPT
          !.syncLeft = IF SyncsExpire THEN RebalanceTimeout ELSE @,
          !.members = [n \in DOMAIN g.members |-> Admitted(g.members[n])]]]

\* The log has what is appended at once, of what fails it has nothing; of a member's protocols
\* it has the one that was chosen. GMM:1256
RecordGroup(s, given) ==
  LET g == s.group
      named(p) == p.name = g.protocolName
  IN IF ~Logged THEN s
     ELSE [s EXCEPT !.log.group =
             [protocolType |-> g.protocolType, protocolName |-> g.protocolName,
              leader |-> g.leader,
              members |-> [n \in DOMAIN g.members |->
                [protocols |-> SelectSeq(g.members[n].protocols, named),
                 instance |-> g.members[n].instance, assignment |-> given[n]]]]]

\* For these two nobody waits, and nobody is told if they fail. GC:1213, 0.10.0 GMM:136
RecordEmpty(s) ==
  IF s.failing = Fine THEN RecordGroup(s, NoEntries) ELSE [s EXCEPT !.failing = Fine]
RemoveGroup(s) ==
  IF s.failing = Fine THEN [s EXCEPT !.log.group = NoRecord] ELSE [s EXCEPT !.failing = Fine]

\* Its offsets stay; assignments on their way to the log reach nobody. 0.10.0 GC:657
Buried(s) ==
  [RemoveGroup(s) EXCEPT
     !.group = [NewGroup EXCEPT !.state = "Dead", !.offset = s.group.offset,
                                !.unstable = s.group.unstable],
     !.appends = [i \in DOMAIN s.appends |-> [s.appends[i] EXCEPT !.generation = 0]]]

\* One leads that has joined. GM:276
LedByOneWhoJoined(s) ==
  LET g == s.group
      joined == {n \in DOMAIN g.members : g.members[n].awaitingJoin}
  IN IF DOMAIN g.members = {} \/ g.leader \in joined THEN {s}
     ELSE {[s EXCEPT !.group.leader = n] : n \in joined}

\* The join phase ends with those who joined; static members may be absent. GC:1183
CompleteJoin(s) ==
  LET absent == {n \in DOMAIN s.group.members : /\ ~s.group.members[n].awaitingJoin
                                                /\ s.group.members[n].instance = NoInstance
                                                /\ ~s.group.members[n].spared}
      \* Nobody has joined. GC:1199
      again(t) == [t EXCEPT !.group.joinTimer = [NoTimer EXCEPT !.left = Max(RebalanceTimeout, 1)]]
      raised(t) == [t EXCEPT !.group.generation = @ + 1, !.group.joinTimer = NoTimer]
      ended(t) ==
        LET members == t.group.members
            names == SelectProtocol(members)
        IN IF DOMAIN members = {}
           THEN {RecordEmpty([t EXCEPT !.group.state = "Empty", !.group.protocolName = Null,
                                       !.group.unwritten = FALSE,
                                       !.group.subscribed = Subscribed(t.group, Null)])}
           ELSE IF names # {} THEN {BeginGeneration(t, name) : name \in names}
           \* The only member offers nothing, and Kafka fails half-way. rebalance/no-protocol
           ELSE {Answer(t, JoinAnswer(This, "UNKNOWN_SERVER_ERROR", NoMember))}
      led(t) == IF LedByOneWhoJoined(t) = {} THEN {again(t)}
                ELSE UNION {ended(raised(u)) : u \in LedByOneWhoJoined(t)}
  IN UNION {IF EmptyDies /\ DOMAIN t.group.members = {} THEN {Buried(t)} ELSE led(t)
            : t \in DropNotRejoined(s, absent)}

AllJoined(g) ==  \* Ids given out and not yet used are waited for. GC:1171
  /\ g.joinTimer # NoTimer
  /\ DOMAIN g.pending = {}
  /\ \A n \in DOMAIN g.members : g.members[n].awaitingJoin

\* Who joins or leaves never cuts the initial delay short.
CheckJoinComplete(s) ==
  IF AllJoined(s.group) /\ ~s.group.joinTimer.initial THEN CompleteJoin(s) ELSE {s}

\* Who expires may. 4.1 GMM:6765,6786
CheckWithout(s) ==
  IF ExpiryEndsDelay /\ AllJoined(s.group) THEN CompleteJoin(s) ELSE CheckJoinComplete(s)

\* GC:1123
PrepareRebalance(s) ==
  LET t == IF s.group.state = "CompletingRebalance"
           THEN PropagateAssignment(s, "REBALANCE_IN_PROGRESS") ELSE s
      g == t.group
      timeout == IF DOMAIN g.members = {} THEN 0 ELSE RebalanceTimeout
      timer == IF g.state = "Empty" /\ InitialDelay
               THEN [left |-> DelayTicks, initial |-> TRUE, round |-> DelayTicks,
                     extension |-> Max(timeout - DelayTicks, 0)]
               ELSE [NoTimer EXCEPT !.left = timeout]
  IN CheckJoinComplete([t EXCEPT !.group =
       [g EXCEPT !.state = "PreparingRebalance", !.joinTimer = timer, !.syncLeft = Stopped,
          !.members = [n \in DOMAIN g.members |->
            [g.members[n] EXCEPT
               !.assignment = IF AssignmentsStay /\ g.state # "CompletingRebalance" THEN @ ELSE "",
               !.unsynced = FALSE]]]])

MaybePrepareRebalance(s) ==  \* GC:1115
  IF s.group.state = "PreparingRebalance" THEN {s} ELSE PrepareRebalance(s)

\* GC:990
AddMember(s, n, r) ==
  LET g == s.group
      m == [protocols |-> r.protocols, isNew |-> NewMembersExpire, told |-> n \in DOMAIN g.pending,
            sessionLeft |-> IF NewMembersExpire THEN NewMemberTicks ELSE Stopped,
            awaitingJoin |-> TRUE, awaitingSync |-> FALSE, assignment |-> "",
            instance |-> r.instance,
            spared |-> FALSE,  \* counts as static nevertheless
            unsynced |-> FALSE]  \* whether the generation waits for its SyncGroup
      grows == IF EveryDelayGrows THEN g.joinTimer.initial
               ELSE g.state = "PreparingRebalance" /\ g.generation = 0
  IN MaybePrepareRebalance([s EXCEPT !.group =
       [g EXCEPT
          !.members = With(@, n, m), !.pending = Without(@, {n}),
          !.protocolType = IF DOMAIN g.members = {} THEN r.protocolType ELSE @,
          !.leader = IF @ = NoMember THEN n ELSE @,
          !.statics = IF r.instance = NoInstance THEN @ ELSE With(@, r.instance, n),
          !.newMemberAdded = @ \/ grows]])

\* An earlier JoinGroup of the member that is still parked will never be answered. GM:496
ParkJoin(s, n, protocols) ==
  [s EXCEPT !.group.members[n] =
     [@ EXCEPT !.protocols = protocols, !.awaitingJoin = TRUE,
               !.sessionLeft = IF s.group.members[n].isNew THEN @ ELSE Stopped]]

\* A parked JoinGroup is told to start anew; a parked SyncGroup is never answered. GC:1147
TakeOut(s, n) ==
  LET t == IF s.group.members[n].awaitingJoin /\ RemovedAreAnswered
           THEN Answer(s, JoinAnswer(Parked("JoinGroup", n), "UNKNOWN_MEMBER_ID", NoMember))
           ELSE s
  IN {ForgetInstance(u, s.group.members[n].instance) : u \in DropMembers(t, {n})}

RemoveMember(s, n) ==
  UNION {IF t.group.state = "PreparingRebalance" THEN CheckWithout(t) ELSE PrepareRebalance(t)
         : t \in TakeOut(s, n)}

TakeBack(s, n) == [s EXCEPT !.group.pending = Without(@, {n})]

\* GC:1163
RemovePending(s, n) ==
  LET t == TakeBack(s, n)
  IN IF t.group.state = "PreparingRebalance" THEN CheckWithout(t) ELSE {t}

------------------------------------------------------------------------------
(* log: storing is a step of its own                                           *)

\* What the error of an append is to SyncGroup, and to OffsetCommit. GMM:283,430
CommitError(error) ==
  IF error = "NOT_ENOUGH_REPLICAS" /\ ReplicasAreMapped THEN "COORDINATOR_NOT_AVAILABLE"
  ELSE error
GroupError(error) ==
  IF error = "REQUEST_TIMED_OUT" THEN "REBALANCE_IN_PROGRESS" ELSE CommitError(error)

\* The assignments reach the members, if the group still waits for them. GC:427
CompleteGroupAppend(s, entry) ==
  LET g == s.group
      given == [s EXCEPT !.group.members =
                  [n \in DOMAIN g.members |->
                     [g.members[n] EXCEPT !.assignment = entry.assignments[n]]]]
  IN IF g.state # "CompletingRebalance" \/ g.generation # entry.generation THEN {s}
     ELSE IF entry.error # Fine  \* log/assignments-failed
     THEN MaybePrepareRebalance(PropagateAssignment(s, GroupError(entry.error)))
     ELSE {[PropagateAssignment(given, "NONE") EXCEPT !.group.state = "Stable"]}

Stored(s, entry, place) ==
  Answer(s, ErrorAnswer(IF place = 0 THEN This ELSE Parked("OffsetCommit", ""),
                        CommitError(entry.error)))

\* What a transaction has committed before is the older one now. Of one that outlives its group
\* nothing more comes than the answer. GMM:405
CompleteOffsetsAppend(s, entry, place) ==
  LET fine == entry.error = Fine
      t == [s EXCEPT !.group.offset = IF fine THEN entry.offset ELSE @,
                     !.group.unstable = IF @ = place THEN 0 ELSE @,
                     !.group.transaction.newer =
                       @ /\ ~(fine /\ s.group.transaction.is = "pending")]
  IN {Stored(IF entry.outlived THEN s ELSE t, entry, place)}

\* If no marker has come in between, and no newer commit of the same transaction. GMM:408, GM:632
CompleteTransactionAppend(s, entry, place) ==
  LET t == IF entry.error = Fine
           THEN [s EXCEPT !.group.transaction.is = IF @ = "held" THEN "pending" ELSE @]
           ELSE [s EXCEPT !.group.transaction = NoTransaction, !.group.awaited = FALSE]
  IN {Stored(IF entry.outlived THEN s ELSE t, entry, place)}

\* The member has its old id again, but offers what it came back with. GC:1062
Reverted(s, entry) ==
  LET g == s.group
      n == entry.memberId
      old == entry.replaced
      m == RearmSession([g.members[n] EXCEPT !.awaitingJoin = FALSE, !.awaitingSync = FALSE,
                                             !.told = entry.wasTold])
  IN [Answer(s, [CurrentGeneration(This, g, NoMember) EXCEPT
                   !.error = GroupError(entry.error), !.leader = entry.leader,
                   !.members = NoEntries])
        EXCEPT !.group.members = With(Without(@, {n}), old, m),
               !.group.leader = IF @ = n THEN old ELSE @,
               !.group.statics = With(@, m.instance, old)]

\* A static member that came back is answered if it still waits. GC:1073
CompleteStaticAppend(s, entry) ==
  LET g == s.group
      n == entry.memberId
  IN IF n = NoMember \/ n \notin DOMAIN g.members THEN {s}
     ELSE IF entry.error # Fine THEN {Reverted(s, entry)}
     ELSE IF ~g.members[n].awaitingJoin THEN {s}
     ELSE {[Answer(s, [CurrentGeneration(Parked("JoinGroup", n), g, entry.told) EXCEPT
                         !.leader = entry.leader, !.members = NoEntries])
              EXCEPT !.group.members[n].awaitingJoin = FALSE, !.group.members[n].told = TRUE]}

CompleteAppend(s, entry, place) ==
  CASE entry.kind = "group"       -> CompleteGroupAppend(s, entry)
    [] entry.kind = "static"      -> CompleteStaticAppend(s, entry)
    [] entry.kind = "offsets"     -> CompleteOffsetsAppend(s, entry, place)
    [] entry.kind = "transaction" -> CompleteTransactionAppend(s, entry, place)

AppendToLog(s, entry) ==
  LET members == s.group.members
      recorded ==
        IF s.failing # Fine \/ ~Logged THEN s
        ELSE IF entry.kind = "group" THEN RecordGroup(s, entry.assignments)
        ELSE IF entry.kind = "static"
        THEN RecordGroup(s, [n \in DOMAIN members |-> members[n].assignment])
        ELSE IF entry.kind = "offsets"
        THEN [s EXCEPT !.log.offset = entry.offset, !.log.transaction.newer = FALSE]
        ELSE [s EXCEPT !.log.transaction = [is |-> "pending", newer |-> TRUE]]
      t == [recorded EXCEPT !.failing = Fine, !.group.unwritten = FALSE]
      ends == [entry EXCEPT !.error = s.failing]
  IN IF s.holding THEN {[t EXCEPT !.appends = Append(@, ends)]} ELSE CompleteAppend(t, ends, 0)

RECURSIVE CompleteFrom(_, _, _)
CompleteFrom(s, entries, place) ==
  IF place > Len(entries) THEN {s}
  ELSE UNION {CompleteFrom(t, entries, place + 1) : t \in CompleteAppend(s, entries[place], place)}

Released(s) ==
  CompleteFrom([s EXCEPT !.appends = <<>>, !.holding = FALSE], s.appends, 1)

\* The leader's assignments go to the log, nothing for those it forgot. GC:415
StoreAssignments(s, given) ==
  AppendToLog(s, [NoEntry EXCEPT
    !.kind = "group", !.generation = s.group.generation,
    !.assignments = [n \in DOMAIN s.group.members |-> IF n \in DOMAIN given THEN given[n] ELSE ""]])

\* Where groups without members die, the offsets of one that never was are all there is of it.
OffsetsOnly(s) ==
  IF s.group # NoGroup THEN s
  ELSE [s EXCEPT !.group = [NewGroup EXCEPT !.state = IF EmptyDies THEN "Dead" ELSE "Empty",
                                            !.unwritten = HidesUnwritten]]

\* GMM:340
StoreOffsets(s, r) ==
  IF r.tooLong THEN {Answer(s, ErrorAnswer(This, "OFFSET_METADATA_TOO_LARGE"))}
  ELSE {[t EXCEPT !.group.unstable = IF s.holding THEN Len(t.appends) ELSE @]
        : t \in AppendToLog(s, [NoEntry EXCEPT !.kind = "offsets", !.offset = 5])}

------------------------------------------------------------------------------
(* failover: the partition moves, the process dies, it is shut down            *)

\* Who waits is told to look elsewhere; commits on their way are answered later. GC:869
Unloaded(s) ==
  LET g == s.group
      members == IF g = NoGroup THEN {} ELSE DOMAIN g.members
      joins == {n \in members : g.members[n].awaitingJoin /\ g.joinTimer # NoTimer}
      syncs == {n \in members : g.members[n].awaitingSync}
      ofOffsets(a) == a.kind \in {"offsets", "transaction"}  \* static members are elsewhere
      kept == SelectSeq(s.appends, ofOffsets)
  IN [s EXCEPT
        !.group = NoGroup, !.serving = "unloaded",
        !.appends = [i \in DOMAIN kept |-> [kept[i] EXCEPT !.outlived = TRUE]],
        !.answers = @
          \cup {[JoinAnswer(Parked("JoinGroup", n), "NOT_COORDINATOR", n) EXCEPT
                   !.generation = RefusedGeneration] : n \in joins}
          \cup {SyncAnswer(Parked("SyncGroup", n), "NOT_COORDINATOR") : n \in syncs}]

LoadedMember(m) ==
  [protocols |-> m.protocols, isNew |-> FALSE, told |-> TRUE, sessionLeft |-> SessionTicks,
   awaitingJoin |-> FALSE, awaitingSync |-> FALSE, assignment |-> m.assignment,
   instance |-> m.instance, spared |-> LoadedAreStatic, unsynced |-> FALSE]

\* The group as it was last recorded, with the offsets. GMM:564
Loaded(s) ==
  LET r == s.log.group
      alone == [NewGroup EXCEPT
                  !.state = IF EmptyDies THEN "Dead" ELSE "Empty", !.offset = s.log.offset,
                  !.transaction = s.log.transaction, !.awaited = s.log.transaction # NoTransaction]
      bare == s.log.offset = NoOffset /\ s.log.transaction = NoTransaction
      instances == {r.members[n].instance : n \in DOMAIN r.members} \ {NoInstance}
      restored ==
        [alone EXCEPT
           !.state = IF DOMAIN r.members = {} THEN "Empty" ELSE "Stable",
           !.generation = 1, !.protocolType = r.protocolType, !.protocolName = r.protocolName,
           !.leader = r.leader,
           !.statics = [i \in instances |->
             CHOOSE n \in DOMAIN r.members : r.members[n].instance = i],
           !.members = [n \in DOMAIN r.members |-> LoadedMember(r.members[n])]]
  IN [s EXCEPT
        !.serving = "served",
        !.group = IF r # NoRecord
                  THEN [restored EXCEPT !.subscribed = Subscribed(restored, r.protocolName)]
                  ELSE IF bare THEN NoGroup ELSE alone]

\* What was on its way to the log is in it, and never answered. GMM:544
Crashed(s) ==
  LET t == [s EXCEPT !.group = NoGroup, !.appends = <<>>, !.active = TRUE]
  IN IF t.serving = "unloaded" THEN t ELSE Loaded(t)

\* GMM:340
StoreTransaction(s, r) ==
  IF r.tooLong THEN {Answer(s, ErrorAnswer(This, "OFFSET_METADATA_TOO_LARGE"))}
  ELSE AppendToLog([s EXCEPT !.group.transaction = [is |-> "held", newer |-> TRUE],
                             !.group.awaited = TRUE],
                   [NoEntry EXCEPT !.kind = "transaction", !.offset = 6])

\* The offset can be read if it is committed, and no newer one has been. GM:660
Ended(s, committed) ==
  LET readable == committed /\ s.group.transaction.newer
  IN [s EXCEPT !.group.offset = IF readable THEN 6 ELSE @,
               !.group.transaction = NoTransaction, !.group.awaited = FALSE]

\* The marker is in the log, whoever coordinates the group.
Marked(s, committed) ==
  [s EXCEPT !.log.offset = IF committed /\ s.log.transaction.newer THEN 6 ELSE @,
            !.log.transaction = NoTransaction]

\* The records that remove the offset and the group, in one append for which nobody waits. GMM:843
Removed(s, offset, group) ==
  LET recorded == group /\ s.group.generation > 0
  IN IF ~offset /\ ~recorded THEN s
     ELSE IF s.failing # Fine \/ ~Logged THEN [s EXCEPT !.failing = Fine]
     ELSE [s EXCEPT
             !.log.group = IF recorded THEN NoRecord ELSE @,
             !.log.offset = IF offset THEN NoOffset ELSE @,
             !.log.transaction.newer = @ \/ (offset /\ s.log.transaction.is = "pending")]

------------------------------------------------------------------------------
(* timers: what every timer has left grows less; with nothing left it fires    *)

Elapse(s, ticks) ==
  IF s.group = NoGroup \/ ticks = 0 THEN s
  ELSE LET g == s.group
           less(left) == IF left = Stopped THEN Stopped ELSE left - ticks
       IN [s EXCEPT !.group =
             [g EXCEPT
                !.members = [n \in DOMAIN g.members |->
                  [g.members[n] EXCEPT !.sessionLeft = less(@)]],
                !.pending = [n \in DOMAIN g.pending |-> less(g.pending[n])],
                !.ghosts = [k \in {left - ticks : left \in DOMAIN g.ghosts} |->
                  g.ghosts[k + ticks]],
                !.syncLeft = less(@),
                !.joinTimer.left = less(@)]]

Timers(g) ==
  IF g = NoGroup THEN {}
  ELSE {[kind |-> "session", of |-> n, left |-> g.members[n].sessionLeft] : n \in DOMAIN g.members}
       \cup {[kind |-> "pending", of |-> n, left |-> g.pending[n]] : n \in DOMAIN g.pending}
       \cup {[kind |-> "ghost", of |-> "", left |-> k] : k \in DOMAIN g.ghosts}
       \cup {[kind |-> "join", of |-> "", left |-> g.joinTimer.left]}
       \cup {[kind |-> "syncs", of |-> "", left |-> g.syncLeft]}

DueNext(g, ticks) ==
  LET due == {t \in Timers(g) : t.left # Stopped /\ t.left =< ticks}
  IN {t \in due : \A other \in due : t.left =< other.left}

\* The end of the rebalance timeout, or of one round of initial delay. DelayedJoin.scala:44,69
EndJoinPhase(s) ==
  LET g == s.group
      timer == g.joinTimer
      round == Min(DelayTicks, timer.extension)
  IN IF timer.initial /\ g.newMemberAdded /\ timer.extension > 0
     THEN {[s EXCEPT
              !.group.newMemberAdded = FALSE,
              !.group.joinTimer = [left |-> round, initial |-> TRUE, round |-> round,
                                   extension |-> Max(timer.extension - timer.round, 0)]]}
     ELSE CompleteJoin(s)

\* 0.10.2 GC:739
EndGhost(s, left) ==
  LET ghosts == s.group.ghosts
      fewer == IF ghosts[left] = 1 THEN Without(ghosts, {left})
               ELSE With(ghosts, left, ghosts[left] - 1)
      t == [s EXCEPT !.group.ghosts = fewer]
  IN IF s.group.state \in {"CompletingRebalance", "Stable"} THEN PrepareRebalance(t) ELSE {t}

\* That of a static member which came back and waits for the log ends without effect.
EndSession(s, n) ==
  LET m == s.group.members[n]
  IN IF m.awaitingJoin /\ ~m.isNew THEN {[s EXCEPT !.group.members[n].sessionLeft = Stopped]}
     ELSE RemoveMember(s, n)
\* It runs while somebody has not synced. 4.1 GMM:7117
EndSyncs(s) ==
  LET unsynced == {n \in DOMAIN s.group.members : s.group.members[n].unsynced}
  IN UNION {PrepareRebalance(t) : t \in DropMembers(s, unsynced)}

\* With nothing left.
Fire(s, timer) ==
  CASE timer.kind = "session" -> EndSession(s, timer.of)     \* GC:1278
    [] timer.kind = "pending" -> RemovePending(s, timer.of)  \* GC:1282
    [] timer.kind = "ghost"   -> EndGhost(s, 0)
    [] timer.kind = "join"    -> EndJoinPhase(s)
    [] timer.kind = "syncs"   -> EndSyncs(s)

RECURSIVE PassTime(_, _)
PassTime(s, ticks) ==
  LET due == IF s.active THEN DueNext(s.group, ticks) ELSE {}
      first == (CHOOSE t \in due : TRUE).left
  IN IF ~s.active THEN {s}
     ELSE IF due = {} THEN {Elapse(s, ticks)}
     ELSE UNION {UNION {PassTime(t, ticks - first) : t \in Fire(Elapse(s, first), timer)}
                 : timer \in due}

------------------------------------------------------------------------------
(* What is the same about two states: which number a generation has (only the  *)
(* first and whether two are equal counts), what was assigned to somebody who  *)
(* is gone, and time, where none passes.                                       *)

Untimed(g) ==
  [g EXCEPT
     !.members = [n \in DOMAIN g.members |->
       [g.members[n] EXCEPT !.sessionLeft = Stopped, !.unsynced = FALSE]],
     !.syncLeft = Stopped,
     !.pending = [n \in DOMAIN g.pending |-> Forever],
     !.ghosts = NoEntries,
     !.joinTimer = IF @ = NoTimer THEN @
                   ELSE IF @.initial
                   THEN [@ EXCEPT !.left = g.joinTimer.round, !.extension = Forever]
                   ELSE [NoTimer EXCEPT !.left = Forever]]

Settled(s) ==
  IF s.group = NoGroup THEN s
  ELSE LET g == IF Timed THEN s.group ELSE Untimed(s.group)
           cut == Max(g.generation - 1, 0)
           known == DOMAIN g.members \cup DOMAIN g.pending
           Known(n) == IF n \in known \cup {NoMember} THEN n ELSE GoneId
       IN [s EXCEPT
             !.group = [g EXCEPT !.generation = @ - cut],
             !.appends = [i \in DOMAIN @ |->
               [s.appends[i] EXCEPT !.generation = Max(@ - cut, 0),
                                    !.assignments = Without(@, DOMAIN @ \ known),
                                    !.leader = Known(@), !.told = Known(@)]]]

\* How a step may end: timers of no length fire before it is done.
Ends(steps, ticks) ==
  {t \in {Settled(u) : u \in UNION {PassTime(s, ticks) : s \in steps}} : Len(t.appends) =< MaxHeld}

------------------------------------------------------------------------------
(* What clients ask                                                            *)

Members(g) == IF g = NoGroup THEN {} ELSE DOMAIN g.members
Pending(g) == IF g = NoGroup THEN {} ELSE DOMAIN g.pending
Told(g)    == {n \in Members(g) : g.members[n].told}
Static(g)  == IF g = NoGroup THEN NoMember ELSE StandsFor(g, Instance)
InLog(l)   == IF l.group = NoRecord THEN {} ELSE DOMAIN l.group.members
Free(g, l) == Names \ (Members(g) \cup Pending(g) \cup InLog(l))
Current(g) == IF g = NoGroup THEN 0 ELSE g.generation
Chosen(g)  == IF g = NoGroup \/ g.protocolName = Null THEN "range" ELSE g.protocolName
Orders(S)  == {q \in [1..Cardinality(S) -> S] : \A n \in S : \E i \in DOMAIN q : q[i] = n}

JoinGroupRequests(g, l) ==
  LET join(n) == [groupId |-> GroupId, givesId |-> GivesIdsFirst, memberId |-> n,
                  instance |-> NoInstance, sessionTicks |-> SessionTicks,
                  protocolType |-> "consumer", protocols |-> Offers[1]]
      newcomer == [join(NoMember) EXCEPT !.instance = Instance]
      static == IF Free(g, l) = {} /\ Static(g) = NoMember THEN {} ELSE {newcomer}
  IN {join(n) : n \in Told(g) \cup Pending(g) \cup {Nobody}}
     \cup {[join(n) EXCEPT !.protocolType = "connect"] : n \in IF Administered THEN Pending(g) ELSE {}}
     \cup {[join(n) EXCEPT !.protocols = Offers[i]] : n \in Told(g), i \in DOMAIN Offers}
     \cup {[join(n) EXCEPT !.protocols = <<>>] : n \in Told(g) \cup {NoMember}}
     \cup (IF "max-size" \in Features THEN static ELSE {})
     \cup (IF "static-members" \notin Features THEN {}
           ELSE static \cup {[r EXCEPT !.protocols = OtherOffer] : r \in static}
                \cup {[join(n) EXCEPT !.instance = Instance]
                        : n \in Told(g) \cup Pending(g) \cup {Nobody}})
     \cup (IF Free(g, l) = {} THEN {}
           ELSE {join(NoMember), [join(NoMember) EXCEPT !.givesId = FALSE]})
     \cup (IF g # NoGroup THEN {}
           ELSE {[join(NoMember) EXCEPT !.groupId = ""],
                 [join(NoMember) EXCEPT !.sessionTicks = 0]})

SyncGroupRequests(g) ==
  LET sync(n) == [groupId |-> GroupId, generation |-> Current(g), memberId |-> n,
                  protocolType |-> IF SyncsByProtocol THEN "consumer" ELSE Null,
                  protocolName |-> IF SyncsByProtocol THEN Chosen(g) ELSE Null,
                  instance |-> NoInstance, assignments |-> NoEntries]
      everybody == [n \in Members(g) |-> "part"]
  IN {[sync(n) EXCEPT !.assignments = IF g # NoGroup /\ n = g.leader THEN everybody ELSE @]
        : n \in Told(g) \cup {Nobody}}
     \cup {[sync(n) EXCEPT !.generation = @ - 1] : n \in Told(g)}
     \cup (IF "static-members" \notin Features THEN {}
           ELSE {[sync(n) EXCEPT !.instance = Instance, !.protocolName = "range"]
                  : n \in Told(g) \cup {Nobody}})
     \cup (IF ~SyncsByProtocol THEN {sync(n) : n \in Told(g)}  \* a leader that assigns nothing
           ELSE UNION {{[sync(n) EXCEPT !.protocolType = "connect"],
                        [sync(n) EXCEPT !.protocolName = "roundrobin"]} : n \in Told(g)})
     \cup (IF g # NoGroup THEN {}
           ELSE {[sync(Nobody) EXCEPT !.groupId = ""],
                 [sync(Nobody) EXCEPT !.protocolType = Null, !.protocolName = Null]})

HeartbeatRequests(g) ==
  LET heartbeat(n) == [groupId |-> GroupId, generation |-> Current(g), memberId |-> n,
                       instance |-> NoInstance]
  IN {heartbeat(n) : n \in Told(g) \cup {Nobody}}
     \cup (IF "static-members" \notin Features THEN {}
           ELSE {[heartbeat(n) EXCEPT !.instance = Instance] : n \in Told(g) \cup {Nobody}})
     \cup {[heartbeat(n) EXCEPT !.generation = @ - 1] : n \in Told(g)}
     \cup (IF g # NoGroup THEN {} ELSE {[heartbeat(Nobody) EXCEPT !.groupId = ""]})

LeaveGroupRequests(g) ==
  LET leave(names) == [groupId |-> GroupId,
                       members |-> [k \in DOMAIN names |->
                         [memberId |-> names[k], instance |-> NoInstance]]]
      leaveAs(n, i) == [leave(<<n>>) EXCEPT !.members[1].instance = i]
  IN {leave(<<n>>) : n \in Told(g) \cup Pending(g) \cup {Nobody}}
     \cup (IF ~LeavesInBatches \/ Cardinality(Told(g)) < 2 THEN {}
           ELSE {leave(names) : names \in Orders(Told(g))})
     \cup (IF "max-size" \in Features THEN {leaveAs(NoMember, Instance)} ELSE {})
     \cup (IF "static-members" \notin Features THEN {}
           ELSE {leaveAs(n, i) : n \in Told(g) \cup Pending(g) \cup {Nobody, NoMember},
                                 i \in {Instance, NoneHas}})
     \cup (IF g # NoGroup THEN {} ELSE {[leave(<<Nobody>>) EXCEPT !.groupId = ""]})

OffsetCommitRequests(g) ==
  LET commit(n, generation) == [generation |-> generation, memberId |-> n, instance |-> NoInstance,
                                tooLong |-> FALSE, nothing |-> FALSE]
  IN (IF ~Transacted /\ ~Administered THEN {}
      ELSE {commit(n, Current(g)) : n \in Told(g)} \cup {commit(NoMember, -1)})
     \cup (IF ~WithOffsets THEN {}
      ELSE {commit(n, Current(g)) : n \in Told(g) \cup {Nobody}}
           \cup {commit(n, Current(g) - 1) : n \in Told(g)}
           \cup {commit(NoMember, -1), [commit(NoMember, -1) EXCEPT !.tooLong = TRUE]})
     \cup (IF "static-members" \notin Features THEN {}
           ELSE {[commit(n, Current(g) + 1) EXCEPT !.instance = Instance]
                  : n \in Told(g) \cup {Nobody}})
     \cup (IF g # NoGroup THEN {} ELSE {[commit(Nobody, 0) EXCEPT !.nothing = TRUE]})

OffsetFetchRequests(g) ==
  LET stable == FetchesStable /\ (WithOffsets \/ Transacted)
  IN IF ~WithOffsets /\ ~Transacted /\ ~Administered THEN {}
     ELSE {[requireStable |-> b] : b \in IF stable THEN BOOLEAN ELSE {FALSE}}

TxnOffsetCommitRequests(g) ==
  LET commit(n, generation) == [groupId |-> GroupId, generation |-> generation, memberId |-> n,
                                instance |-> NoInstance, tooLong |-> FALSE, nothing |-> FALSE]
  IN (IF "static-members" \notin Features THEN {}
      ELSE {[commit(n, Current(g) + 1) EXCEPT !.instance = Instance] : n \in Told(g) \cup {Nobody}})
     \cup (IF ~Transacted THEN {}
           ELSE {commit(n, Current(g)) : n \in Told(g) \cup {Nobody}}
                \cup {commit(n, Current(g) - 1) : n \in Told(g)}
                \cup {commit(NoMember, -1)}
                \cup (IF g # NoGroup THEN {}
                      ELSE {[commit(NoMember, -1) EXCEPT !.tooLong = TRUE],
                            [commit(NoMember, -1) EXCEPT !.nothing = TRUE],
                            [commit(NoMember, 0) EXCEPT !.groupId = ""]}))

\* No marker comes before a TxnOffsetCommit that is on its way to the log.
EndTxnRequests(s) ==
  LET marker(committed) == [groupId |-> GroupId, committed |-> committed]
  IN IF ~Transacted THEN {}
     ELSE (IF \E i \in DOMAIN s.appends : s.appends[i].kind = "transaction" THEN {}
           ELSE {marker(b) : b \in BOOLEAN})
          \cup (IF s.group # NoGroup THEN {} ELSE {[marker(TRUE) EXCEPT !.groupId = ""]})

\* A null filter is none.
ListGroupsRequests ==
  IF ~Administered THEN {}
  ELSE {[filter |-> Null]}
       \cup (IF FiltersStates THEN {[filter |-> "Empty"], [filter |-> "empty"]} ELSE {})

OffsetDeleteRequests(g) ==
  IF ~Administered \/ ~DeletesOffsets THEN {}
  ELSE {[groupId |-> GroupId, topic |-> topic] : topic \in Topics}
       \cup (IF g # NoGroup THEN {} ELSE {[groupId |-> "", topic |-> "topic"]})

------------------------------------------------------------------------------
(* What some requests do                                                       *)

\* Not (Empty and something offered, or the same type and a protocol all support). GM:442
Inconsistent(g, r) ==
  IF ~ChecksFirstOffer /\ DOMAIN g.members = {} THEN FALSE
  ELSE IF g.state = "Empty" THEN r.protocols = <<>>
  ELSE \/ g.protocolType # r.protocolType
       \/ ~\E i \in DOMAIN r.protocols : SupportedByAll(g.members, r.protocols[i].name)

\* An unknown member id brings the group into being, even if it is then refused.
Created(s) ==
  LET g == IF s.group = NoGroup THEN NewGroup ELSE s.group
      type == IF EmptyDies THEN "consumer" ELSE Null
  IN IF Gone(s.group) THEN [s EXCEPT !.group = [g EXCEPT !.state = Begins, !.protocolType = type]]
     ELSE s

Inconsistency(s, memberId) ==
  Answer(s, Refusal("INCONSISTENT_GROUP_PROTOCOL", memberId))

GiveId(s, n) ==
  Answer([s EXCEPT !.group.pending = With(@, n, SessionTicks)],
         JoinAnswer(This, "MEMBER_ID_REQUIRED", n))

Unchanged(g, r) == g.members[r.memberId].protocols = r.protocols

Rejoin(s, r) == MaybePrepareRebalance(ParkJoin(s, r.memberId, r.protocols))

Joined(steps) ==
  UNION {IF s.group.state = "PreparingRebalance" THEN CheckJoinComplete(s) ELSE {s} : s \in steps}

Rearmed(s, n) == [s EXCEPT !.group.members[n] = RearmSession(@)]

\* The generation waits for it no longer; once it waits for nobody, the time is off. 4.1 GMM:7586
NoteSynced(s, n) ==
  LET g == [s.group EXCEPT !.members[n].unsynced = FALSE]
      waits == \E k \in DOMAIN g.members : g.members[k].unsynced
  IN [s EXCEPT !.group = [g EXCEPT !.syncLeft = IF waits THEN @ ELSE Stopped]]

ParkSync(s, n) ==  \* GC:408
  [NoteSynced(s, n) EXCEPT
     !.group.members[n].awaitingSync = TRUE, !.group.members[n].sessionLeft = Stopped]

\* All have left, some of them or none: in 4.1 only now the group is looked at. 4.1 GMM:7976
AfterBatch(s, errors) ==
  IF ~LeavesTogether \/ s.group.state = "Empty" \/ \A i \in DOMAIN errors : errors[i] # "NONE"
  THEN {s}
  ELSE IF s.group.state = "PreparingRebalance" THEN CheckJoinComplete(s) ELSE PrepareRebalance(s)

Synced(s, n) == IF SyncsAreAlive THEN Rearmed(s, n) ELSE NoteSynced(s, n)

\* Who waits already is counted, so that the last to join again are the ones too many. GC:131
IsFull(g, r) ==
  LET waits == {n \in DOMAIN g.members : g.members[n].awaitingJoin}
  IN CASE g.state = "PreparingRebalance" ->
            r.memberId \notin waits /\ Cardinality(waits) >= MaxSize
       [] g.state \in {"CompletingRebalance", "Stable"} ->
            r.memberId \notin DOMAIN g.members /\ Cardinality(DOMAIN g.members) >= MaxSize
       [] OTHER -> FALSE

\* The member id is forgotten, and the instance id, each by itself.
TurnAway(s, r) ==
  {Answer(ForgetInstance(t, r.instance), Refusal("GROUP_MAX_SIZE_REACHED", NoMember))
    : t \in IF r.memberId \in DOMAIN s.group.members THEN DropMembers(s, {r.memberId}) ELSE {s}}

\* Names that the one who takes a member's place may be given.
FreeBut(g, old) == Names \ ((DOMAIN g.members \cup DOMAIN g.pending) \ {old})

\* The member goes on under a new id, its new JoinGroup parked; who waits under the old is told. GM:305
TakePlace(s, r, n) ==
  LET g == s.group
      old == StandsFor(g, r.instance)
      m == g.members[old]
      renewed == RearmSession([m EXCEPT !.awaitingJoin = FALSE, !.awaitingSync = FALSE,
                                        !.told = FALSE, !.protocols = r.protocols])
      parked == [renewed EXCEPT !.awaitingJoin = TRUE,
                                !.sessionLeft = IF m.isNew THEN @ ELSE Stopped]
  IN [s EXCEPT
        !.answers = @ \cup
          (IF m.awaitingJoin
           THEN {JoinAnswer(Parked("JoinGroup", old), "FENCED_INSTANCE_ID", old)} ELSE {}) \cup
          (IF m.awaitingSync
           THEN {SyncAnswer(Parked("SyncGroup", old), "FENCED_INSTANCE_ID")} ELSE {}),
        !.group.members = With(Without(@, {old}), n, parked),
        !.group.leader = IF @ = old THEN n ELSE @,
        !.group.statics = With(@, r.instance, n),
        !.appends = [i \in DOMAIN @ |-> [s.appends[i] EXCEPT
          !.memberId = IF @ = old THEN n ELSE @,
          !.told = IF @ = old THEN GoneId ELSE @,
          !.leader = IF @ = old THEN GoneId ELSE @,
          !.assignments = Without(@, {old})]]]

\* In Stable: whether the vote may go to the same protocol as before, and to another.
VotedBy(g, r) ==
  SelectProtocol([g.members EXCEPT ![StandsFor(g, r.instance)].protocols = r.protocols])

\* The new id is stored; the answer names who led before, so that nobody assigns again. GC:1053
StoreNewId(s, r, n) ==
  LET led == s.group.leader
      old == StandsFor(s.group, r.instance)
      t == [TakePlace(s, r, n) EXCEPT !.group.members[n].sessionLeft = SessionTicks]
  IN AppendToLog(t, [NoEntry EXCEPT
       !.kind = "static", !.told = n, !.memberId = n,
       !.replaced = IF s.failing = Fine THEN @ ELSE old,
       !.wasTold = s.failing = Fine \/ s.group.members[old].told,
       !.leader = IF s.holding /\ led = old THEN GoneId ELSE led])

ComeBack(s, r) ==
  LET g == s.group
      free == FreeBut(g, StandsFor(g, r.instance))
      taken == {TakePlace(s, r, n) : n \in free \ InLog(s.log)}
  IN IF StandsFor(g, r.instance) = GoneId                       \* join/static-gone GM:312
     THEN {Answer(s, JoinAnswer(This, "UNKNOWN_SERVER_ERROR", NoMember))}
     ELSE CASE g.state = "Stable" ->
                 \* join/static-unchanged GC:1053, join/static-changed GC:1090
                 (IF g.protocolName \in VotedBy(g, r)
                  THEN UNION {StoreNewId(s, r, n) : n \in free} ELSE {})
                 \cup (IF VotedBy(g, r) \ {g.protocolName} # {}
                       THEN UNION {PrepareRebalance(t) : t \in taken} ELSE {})
            [] g.state = "CompletingRebalance" ->               \* join/static-completing GC:1098
                 UNION {PrepareRebalance(t) : t \in taken}
            [] OTHER -> taken                                   \* join/static-preparing GC:1102

RECURSIVE LeaveFrom(_, _, _, _)
LeaveFrom(s, members, errors, i) ==  \* each leaves before the next is looked at. GC:471
  LET rest(t, error) == LeaveFrom(t, members, Append(errors, error), i + 1)
      fails == {Answer(s, [to |-> This, error |-> "UNKNOWN_SERVER_ERROR", errors |-> <<>>])}
      n == members[i].memberId
      instance == members[i].instance
      known == StandsFor(s.group, instance)
      leaver == IF known = NoMember THEN n ELSE known
      pending == IF LeavesTogether THEN {TakeBack(s, n)} ELSE RemovePending(s, n)
      left == IF LeavesTogether THEN TakeOut(s, leaver) ELSE RemoveMember(s, leaver)
      answer == [to |-> This, error |-> "NONE", errors |-> errors]
  IN IF i > Len(members) THEN {Answer(t, answer) : t \in AfterBatch(s, errors)}
     ELSE IF n # NoMember /\ known \notin {NoMember, n} THEN rest(s, "FENCED_INSTANCE_ID")
     ELSE IF n \in DOMAIN s.group.pending
     THEN IF instance # NoInstance THEN fails ELSE UNION {rest(t, "NONE") : t \in pending}
     ELSE IF known = NoMember /\ n \notin DOMAIN s.group.members THEN rest(s, "UNKNOWN_MEMBER_ID")
     ELSE IF known = GoneId THEN fails
     ELSE UNION {rest(t, "NONE") : t \in left}

LeaveAnswer(r, error, each) ==
  [to |-> This, error |-> error,
   errors |-> IF each = "" THEN <<>> ELSE [i \in DOMAIN r.members |-> each]]

\* fetch/no-group GMM:492, fetch/unstable GMM:510, fetch/in-transaction GM:692,
\* fetch/committed GMM:514
Fetched(s, r) ==
  LET unstable == s.group # NoGroup /\ r.requireStable /\
                  (s.group.unstable # 0 \/ s.group.transaction # NoTransaction)
  IN Answer(s, [to |-> This, error |-> IF unstable THEN "UNSTABLE_OFFSET_COMMIT" ELSE "NONE",
                offset |-> IF s.group = NoGroup \/ unstable THEN NoOffset ELSE s.group.offset])

NotDescribed(error) ==
  [to |-> This, error |-> error, state |-> "", protocolType |-> "", protocolName |-> "",
   metadata |-> NoEntries, assignments |-> NoEntries]

\* describe/no-group GC:825, describe/stable GM:561, describe/unstable GM:568
Described(s) ==
  LET g == s.group
      shown == [NotDescribed("NONE") EXCEPT !.state = "Dead"]
      gone == Answer(s, [shown EXCEPT !.error = IF SaysNotFound THEN "GROUP_ID_NOT_FOUND" ELSE @])
      there == Answer([s EXCEPT !.group.unwritten = FALSE],
            [shown EXCEPT
               !.state = IF g.state = "CompletingRebalance" THEN CompletingName ELSE g.state,
               !.protocolType = IF g.protocolType = Null THEN "" ELSE g.protocolType,
               !.protocolName = IF g.state = "Stable" THEN g.protocolName ELSE "",
               !.metadata = [n \in DOMAIN g.members |->
                 IF g.state = "Stable" THEN MetadataOf(g.members[n], g.protocolName) ELSE ""],
               !.assignments = [n \in DOMAIN g.members |->
                 IF g.state = "Stable" \/ AssignmentsStay THEN g.members[n].assignment ELSE ""]])
  IN IF Gone(g) THEN {gone}
     ELSE IF g.unwritten THEN {gone, there}  \* describe/unwritten 4.1 GMM:745
     ELSE {there}

\* A TxnOffsetCommit brings the group into being, even if it is then refused. GC:680
Commenced(s) == IF s.group = NoGroup THEN [s EXCEPT !.group = NewGroup] ELSE s

\* list/no-group GC:813, list/other-state GC:815, list/group GC:816
Listed(s, r) ==
  LET g == s.group
      shown == [state |-> g.state,
                protocolType |-> IF g.protocolType = Null THEN "" ELSE g.protocolType]
  IN Answer(s, [to |-> This, error |-> "NONE",
                groups |-> IF Gone(g) \/ r.filter \notin {Null, g.state} THEN {} ELSE {shown}])

\* With the ids that were given out. group/deleted GMM:834
Deleted(s) == [s EXCEPT !.group = NoGroup]

\* An Empty group that has no offset left is gone with the last. GM:699
OffsetDeleted(s, topic) ==
  LET g == IF topic # "topic" THEN s.group
           ELSE [s.group EXCEPT !.offset = NoOffset, !.unstable = 0,
                                !.transaction = NoTransaction]
      left == g.offset # NoOffset \/ g.unstable # 0 \/ g.awaited
      dies == g.state = "Empty" /\ ~left
      t == Removed(s, topic = "topic" /\ s.group.offset # NoOffset, dies)
  IN IF dies THEN Deleted(t) ELSE [t EXCEPT !.group = g]

DeleteAnswer(error, each) == [to |-> This, error |-> error, errors |-> each]

------------------------------------------------------------------------------
(*--algorithm ConsumerGroup

variables
  group   = NoGroup,
  holding = FALSE,  \* whether appends to the log stay incomplete
  appends = <<>>,   \* those that do
  serving = "served",  \* the partition; or "loading", or "unloaded"
  active  = TRUE,   \* not shut down
  failing = Fine,   \* the error of the next append
  log     = NoLog,  \* if it is kept
  answers = {};     \* what the last step answered

define
  \* What is told apart by the instances that do not look at the answers.
  State == <<group, holding, appends, serving, active, failing, log>>
  Begin == [group |-> group, holding |-> holding, appends |-> appends, serving |-> serving,
            active |-> active, failing |-> failing, log |-> log, answers |-> {}]

  \* The gate before each API: what it refuses with, "" if it is open. GC:856
  Gate(said) == IF ~active THEN "COORDINATOR_NOT_AVAILABLE"  \* not-active GC:859
                ELSE IF serving = "loading" /\ ~Old THEN said  \* loading GC:861
                ELSE IF serving # "served" THEN "NOT_COORDINATOR"  \* not-coordinator GC:863
                ELSE ""
  Refused == Gate("COORDINATOR_LOAD_IN_PROGRESS")
end define

\* The step ends in one of the ways it may.
macro Finish(steps, ticks) begin
  with t \in Ends(steps, ticks) do
    group   := t.group;
    holding := t.holding;
    appends := t.appends;
    serving := t.serving;
    active  := t.active;
    failing := t.failing;
    log     := t.log;
    answers := t.answers;
  end with;
end macro

macro Reply(answer) begin
  Finish({Answer(Begin, answer)}, 0);
end macro

process JoinGroup = "JoinGroup"
begin join_group:  \* GC:156
  while TRUE do
    with r \in JoinGroupRequests(group, log), g = Created(Begin).group, s = Created(Begin) do
      if Old /\ ~active then                                    \* before the id: 0.10.2 GC:101
        Reply(Refusal(Refused, r.memberId));
      elsif r.groupId = "" then                                 \* join/invalid-group-id GC:857
        Reply(Refusal("INVALID_GROUP_ID", r.memberId));
      elsif Refused # "" then                                   \* gate GC:859
        Reply(Refusal(Refused, r.memberId));
      elsif r.sessionTicks = 0 then
        \* join/session-timeout-out-of-range GC:172
        Reply(Refusal("INVALID_SESSION_TIMEOUT", r.memberId));
      elsif Gone(group) /\ r.memberId # NoMember then           \* join/no-group GC:180
        Reply(Refusal("UNKNOWN_MEMBER_ID", r.memberId));
      elsif IsFull(g, r) then                                   \* join/group-full GC:184
        Finish(Joined(TurnAway(s, r)), 0);
      elsif r.memberId = NoMember then
        if Inconsistent(g, r) then                              \* join/new-inconsistent GC:220
          Finish(Joined({Inconsistency(s, NoMember)}), 0);
        elsif StandsFor(g, r.instance) # NoMember then
          Finish(Joined(ComeBack(s, r)), 0);
        elsif r.givesId /\ r.instance = NoInstance then
                                          \* join/member-id-required GC:227
          Finish(Joined({GiveId(s, n) : n \in Free(g, log)}), 0);
        else                                                    \* join/new-member GC:238
          Finish(Joined(UNION {AddMember(s, n, r) : n \in Free(g, log)}), 0);
        end if;
      elsif Inconsistent(g, r) then                             \* join/inconsistent GC:262
        Finish(Joined({Inconsistency(s, r.memberId)}), 0);
      elsif r.memberId \in DOMAIN g.pending /\ r.instance # NoInstance then
        \* join/pending-static GC:267
        Finish(Joined({Answer(s, JoinAnswer(This, "UNKNOWN_SERVER_ERROR", NoMember))}), 0);
      elsif r.memberId \in DOMAIN g.pending then                \* join/pending-member GC:264
        Finish(Joined(AddMember(s, r.memberId, r)), 0);
      elsif Fenced(g, r) then                                   \* join/fenced GC:277
        Finish(Joined({Answer(s, Refusal("FENCED_INSTANCE_ID", r.memberId))}), 0);
      elsif r.instance # NoInstance /\ StandsFor(g, r.instance) = NoMember then
        \* join/unknown-instance GC:280
        Finish(Joined({Answer(s, Refusal("UNKNOWN_MEMBER_ID", r.memberId))}), 0);
      elsif r.memberId \notin DOMAIN g.members then             \* join/unknown-member GC:280
        Finish(Joined({Answer(s, Refusal("UNKNOWN_MEMBER_ID", r.memberId))}), 0);
      elsif g.state = "PreparingRebalance" then                 \* join/rejoin-preparing GC:289
        Finish(Joined(Rejoin(s, r)), 0);
      elsif g.state = "CompletingRebalance" /\ Unchanged(g, r) then
        \* join/repeated-completing GC:293
        Reply(CurrentGeneration(Parked("JoinGroup", r.memberId), g, r.memberId));
      elsif g.state = "CompletingRebalance" then                \* join/changed-completing GC:311
        Finish(Joined(Rejoin(s, r)), 0);
      elsif g.leader = r.memberId then                          \* join/leader-stable GC:316
        Finish(Joined(Rejoin(s, r)), 0);
      elsif ~Unchanged(g, r) then                               \* join/changed-stable GC:321
        Finish(Joined(Rejoin(s, r)), 0);
      else                                                      \* join/repeated-stable GC:326
        Reply(CurrentGeneration(Parked("JoinGroup", r.memberId), g, r.memberId));
      end if;
    end with;
  end while;
end process

process SyncGroup = "SyncGroup"
begin sync_group:  \* GC:347
  while TRUE do
    with r \in SyncGroupRequests(group) do
      if SyncsByProtocol /\ r.protocolType = Null then
        \* sync/protocol-missing KafkaApis.scala:1585
        Reply(SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL"));
      elsif ChecksEveryGroupId /\ r.groupId = "" then           \* sync/invalid-group-id GC:857
        Reply(SyncAnswer(This, "INVALID_GROUP_ID"));
      elsif Gate("REBALANCE_IN_PROGRESS") # "" then             \* gate GC:357
        Reply(SyncAnswer(This, Gate("REBALANCE_IN_PROGRESS")));
      elsif Gone(group) \/ r.groupId = "" then                  \* sync/no-group GC:367
        Reply(SyncAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif Fenced(group, r) then                               \* sync/fenced GC:389
        Reply(SyncAnswer(This, "FENCED_INSTANCE_ID"));
      \* In 4.1 the first of these is sync/empty-group, 4.1 GMM:7352.
      elsif group.state = "Empty" \/ r.memberId \notin DOMAIN group.members then
        \* sync/unknown-member GC:391
        Reply(SyncAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif r.generation # group.generation then                \* sync/other-generation GC:393
        Reply(SyncAnswer(This, "ILLEGAL_GENERATION"));
      elsif r.protocolType \notin {Null, group.protocolType} then
        \* sync/other-protocol-type GC:395
        Reply(SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL"));
      elsif /\ r.protocolName \notin {Null, group.protocolName}
            /\ ~(AnyUntilChosen /\ group.protocolName = Null) then
        \* sync/other-protocol-name GC:397
        Reply(SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL"));
      elsif group.state = "PreparingRebalance" then             \* sync/preparing GC:404
        Reply(SyncAnswer(This, "REBALANCE_IN_PROGRESS"));
      elsif group.state = "CompletingRebalance" /\ group.leader = r.memberId then
        \* sync/leader-completing GC:411
        Finish(StoreAssignments(ParkSync(Begin, r.memberId), r.assignments), 0);
      elsif group.state = "CompletingRebalance" then            \* sync/follower-completing GC:408
        Finish({ParkSync(Begin, r.memberId)}, 0);
      else                                                      \* sync/stable GC:441
        Finish({Answer(Synced(Begin, r.memberId),
                       [SyncAnswer(Parked("SyncGroup", r.memberId), "NONE") EXCEPT
                          !.protocolType = group.protocolType, !.protocolName = group.protocolName,
                          !.assignment = group.members[r.memberId].assignment])}, 0);
      end if;
    end with;
  end while;
end process

process Heartbeat = "Heartbeat"
begin heartbeat:  \* GC:607
  while TRUE do
    with r \in HeartbeatRequests(group) do
      if ChecksEveryGroupId /\ r.groupId = "" then
        \* heartbeat/invalid-group-id GC:857
        Reply(ErrorAnswer(This, "INVALID_GROUP_ID"));
      elsif Gate("NONE") # "" then                              \* gate GC:615
        Reply(ErrorAnswer(This, Gate("NONE")));
      elsif Gone(group) \/ r.groupId = "" then                  \* heartbeat/no-group GC:622
        Reply(ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif Fenced(group, r) then                               \* heartbeat/fenced GC:632
        Reply(ErrorAnswer(This, "FENCED_INSTANCE_ID"));
      elsif ~AliveInPreparing /\ group.state # "Stable" then
        \* heartbeat/unstable 0.10.0 GC:363
        Reply(ErrorAnswer(This, "REBALANCE_IN_PROGRESS"));
      elsif r.memberId \notin DOMAIN group.members then         \* heartbeat/unknown-member GC:634
        Reply(ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif group.state = "CompletingRebalance" /\ ~AliveInCompleting then
        \* heartbeat/completing 0.10.2 GC:367
        Reply(ErrorAnswer(This, "REBALANCE_IN_PROGRESS"));
      elsif r.generation # group.generation then                \* heartbeat/other-generation GC:636
        Reply(ErrorAnswer(This, "ILLEGAL_GENERATION"));
      elsif group.state = "PreparingRebalance" then             \* heartbeat/preparing GC:650
        Finish({Answer(Rearmed(Begin, r.memberId), ErrorAnswer(This, "REBALANCE_IN_PROGRESS"))}, 0);
      else                                                      \* heartbeat/alive GC:643
        Finish({Answer(Rearmed(Begin, r.memberId), ErrorAnswer(This, "NONE"))}, 0);
      end if;
    end with;
  end while;
end process

process LeaveGroup = "LeaveGroup"
begin leave_group:  \* GC:454
  while TRUE do
    with r \in LeaveGroupRequests(group) do
      if ChecksEveryGroupId /\ r.groupId = "" then              \* leave/invalid-group-id GC:857
        Reply(LeaveAnswer(r, "INVALID_GROUP_ID", ""));
      elsif Refused # "" then                                   \* gate GC:859
        Reply(LeaveAnswer(r, Refused, ""));
      elsif Gone(group) \/ r.groupId = "" then                  \* leave/no-group GC:462
        Reply(LeaveAnswer(r, "NONE", "UNKNOWN_MEMBER_ID"));
      else                                                      \* leave/batch GC:471
        Finish(LeaveFrom(Begin, r.members, <<>>, 1), 0);
      end if;
    end with;
  end while;
end process

process OffsetCommit = "OffsetCommit"
begin offset_commit:  \* GC:686
  while TRUE do
    with r \in OffsetCommitRequests(group) do
      if r.nothing then
        \* commit/nothing KafkaApis.scala:434
        Reply(ErrorAnswer(This, "NONE"));
      elsif Refused # "" then                                   \* gate GC:859
        Reply(ErrorAnswer(This, Refused));
      elsif Gone(group) /\ r.generation < 0 then                \* commit/simple-no-group GC:697
        Finish(StoreOffsets(OffsetsOnly(Begin), r), 0);
      elsif Gone(group) then                                    \* commit/no-group GC:701
        \* commit/not-found 4.1 OMM:468
        Reply(ErrorAnswer(This,
          IF SaysNotFound THEN "GROUP_ID_NOT_FOUND" ELSE "ILLEGAL_GENERATION"));
      elsif Fenced(group, r) then                               \* commit/fenced GC:762
        Reply(ErrorAnswer(This, "FENCED_INSTANCE_ID"));
      elsif group.state = "Empty" /\ r.generation < 0 then      \* commit/simple-empty GC:764
        Finish(StoreOffsets(Begin, r), 0);
      elsif CompletingFirst /\ group.state = "CompletingRebalance" then
        \* commit/completing 0.10.2 GC:439
        Reply(ErrorAnswer(This, "REBALANCE_IN_PROGRESS"));
      elsif r.memberId \notin DOMAIN group.members then
        \* commit/simple-in-use 4.1 CG:853, commit/unknown-member GC:767
        Reply(ErrorAnswer(This, "UNKNOWN_MEMBER_ID"));
      elsif r.generation # group.generation then                \* commit/other-generation GC:769
        Reply(ErrorAnswer(This, "ILLEGAL_GENERATION"));
      elsif group.state = "CompletingRebalance" then            \* commit/completing GC:780
        Reply(ErrorAnswer(This, "REBALANCE_IN_PROGRESS"));
      else                                                      \* commit/member GC:773
        Finish(StoreOffsets(Rearmed(Begin, r.memberId), r), 0);
      end if;
    end with;
  end while;
end process

process OffsetFetch = "OffsetFetch"
begin offset_fetch:  \* GC:794
  while TRUE do
    with r \in OffsetFetchRequests(group) do
      if Refused # "" then                                      \* gate GC:859
        Reply([to |-> This, error |-> Refused, offset |-> NoOffset]);
      else
        Finish({Fetched(Begin, r)}, 0);
      end if;
    end with;
  end while;
end process

process DescribeGroups = "DescribeGroups"
begin describe_groups:  \* GC:820
  while TRUE do
    if Refused # "" then                                        \* gate GC:859
      Reply(NotDescribed(Refused));
    else
      Finish(Described(Begin), 0);
    end if;
  end while;
end process

process TxnOffsetCommit = "TxnOffsetCommit"
begin txn_offset_commit:  \* GC:668
  while TRUE do
    with r \in TxnOffsetCommitRequests(group), s = Commenced(Begin) do
      if r.nothing then
        \* txn-commit/nothing KafkaApis.scala:2393
        Reply(ErrorAnswer(This, "NONE"));
      elsif r.groupId = "" then
        \* txn-commit/invalid-group-id GC:857
        Reply(ErrorAnswer(This, "INVALID_GROUP_ID"));
      elsif Refused # "" then                                   \* gate GC:859
        Reply(ErrorAnswer(This, Refused));
      elsif Fenced(s.group, r) then                             \* txn-commit/fenced GC:735
        Reply(ErrorAnswer(This, "FENCED_INSTANCE_ID"));
      elsif r.memberId # NoMember /\ r.memberId \notin DOMAIN s.group.members then
        \* txn-commit/unknown-member GC:737
        Finish({Answer(s, ErrorAnswer(This, "UNKNOWN_MEMBER_ID"))}, 0);
      elsif r.generation >= 0 /\ r.generation # s.group.generation then
        \* txn-commit/other-generation GC:740
        Finish({Answer(s, ErrorAnswer(This, "ILLEGAL_GENERATION"))}, 0);
      else                                                      \* txn-commit/pending GC:744
        Finish(StoreTransaction(s, r), 0);
      end if;
    end with;
  end while;
end process

process EndTxn = "EndTxn"
begin end_txn:  \* GMM:883
  while TRUE do
    with r \in EndTxnRequests(Begin) do
      if r.groupId = "" then                                    \* end-txn/invalid-group-id GC:857
        Reply(ErrorAnswer(This, "INVALID_GROUP_ID"));
      elsif ~active then                                        \* end-txn/not-active
        Finish({Answer(Marked(Begin, r.committed),
                       ErrorAnswer(This, "UNKNOWN_SERVER_ERROR"))}, 0);
      elsif Gone(group) \/ ~group.awaited then                  \* end-txn/nothing-pending GMM:884
        Finish({Answer(Marked(Begin, r.committed), ErrorAnswer(This, "NONE"))}, 0);
      else                        \* end-txn/committed GM:670, end-txn/aborted GM:661
        Finish({Answer(Ended(Marked(Begin, r.committed), r.committed),
                       ErrorAnswer(This, "NONE"))}, 0);
      end if;
    end with;
  end while;
end process

process ListGroups = "ListGroups"
begin list_groups:  \* GC:806
  while TRUE do
    with r \in ListGroupsRequests do
      if ~active then                                           \* list/not-active GC:808
        Reply([to |-> This, error |-> Refused, groups |-> {}]);
      elsif serving = "loading" then                            \* list/loading GC:810
        Reply([to |-> This, error |-> "COORDINATOR_LOAD_IN_PROGRESS", groups |-> {}]);
      else
        Finish({Listed(Begin, r)}, 0);
      end if;
    end with;
  end while;
end process

process DeleteGroups = "DeleteGroups"
begin delete_groups:  \* GC:510
  while TRUE do
    await Administered /\ DeletesGroups;
    if Refused # "" then                                        \* gate GC:859
      Reply(DeleteAnswer("NONE", {Refused}));
    elsif Gone(group) then                                      \* delete/no-group GC:523
      Reply(DeleteAnswer("NONE", {"GROUP_ID_NOT_FOUND"}));
    elsif group.state # "Empty" then                            \* delete/not-empty GC:534
      Reply(DeleteAnswer("NONE", {"NON_EMPTY_GROUP"}));
    else                                                        \* delete/empty GC:530
      Finish({Answer(Deleted(Removed(Begin, group.offset # NoOffset, TRUE)),
                     DeleteAnswer("NONE", {"NONE"}))}, 0);
    end if;
  end while;
end process

process OffsetDelete = "OffsetDelete"
begin offset_delete:  \* GC:551
  while TRUE do
    with r \in OffsetDeleteRequests(group) do
      if r.groupId = "" then
        \* offset-delete/invalid-group-id GC:857
        Reply(DeleteAnswer("INVALID_GROUP_ID", {}));
      elsif Refused # "" then                                   \* gate GC:859
        Reply(DeleteAnswer(Refused, {}));
      elsif Gone(group) then                                    \* offset-delete/no-group GC:563
        Reply(DeleteAnswer("GROUP_ID_NOT_FOUND", {}));
      elsif group.state = "Empty" then                          \* offset-delete/empty GC:574
        Finish({Answer(OffsetDeleted(Begin, r.topic), DeleteAnswer("NONE", {"NONE"}))}, 0);
      elsif group.protocolType = "consumer" /\ r.topic \in group.subscribed then
        \* offset-delete/consumers GC:577
        Reply(DeleteAnswer("NONE", {"GROUP_SUBSCRIBED_TO_TOPIC"}));
      elsif group.protocolType = "consumer" then                \* offset-delete/consumers GC:577
        Finish({Answer(OffsetDeleted(Begin, r.topic), DeleteAnswer("NONE", {"NONE"}))}, 0);
      else                                         \* offset-delete/not-consumers GC:584
        Reply(DeleteAnswer("NON_EMPTY_GROUP", {}));
      end if;
    end with;
  end while;
end process

process Advance = "Advance"
begin advance:
  while TRUE do
    if Timed then
      Finish({Begin}, 1);
    else
      await group # NoGroup /\ group.joinTimer.initial;
      Finish({Begin}, group.joinTimer.left);
    end if;
  end while;
end process

process HoldAppends = "HoldAppends"
begin hold_appends:  \* GMM:323
  while TRUE do
    await MaxHeld > 0 /\ ~holding;
    Finish({[Begin EXCEPT !.holding = TRUE]}, 0);
  end while;
end process

process ReleaseAppends = "ReleaseAppends"
begin release_appends:  \* GMM:323
  while TRUE do
    await holding;
    Finish(Released(Begin), 0);
  end while;
end process

process FailAppends = "FailAppends"
begin fail_appends:  \* GMM:276
  while TRUE do
    await Fails /\ failing = Fine;
    with error \in {"NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT"} do
      Finish({[Begin EXCEPT !.failing = error]}, 0);
    end with;
  end while;
end process

process Crash = "Crash"
begin crash:  \* GMM:544
  while TRUE do
    await Logged;
    Finish({Crashed(Begin)}, 0);
  end while;
end process

process Unload = "Unload"
begin unload:  \* GMM:752
  while TRUE do
    await Moves /\ active /\ serving # "unloaded";
    Finish({Unloaded(Begin)}, 0);
  end while;
end process

process Loading = "Loading"
begin loading:  \* GMM:533
  while TRUE do
    await Moves /\ active /\ serving # "loading";
    Finish({[Unloaded(Begin) EXCEPT !.serving = "loading"]}, 0);
  end while;
end process

process Load = "Load"
begin load:  \* GMM:558
  while TRUE do
    await Moves /\ active /\ serving # "served";
    Finish({Loaded(Begin)}, 0);
  end while;
end process

process Shutdown = "Shutdown"
begin shutdown:  \* GC:118
  while TRUE do
    await Moves /\ active;
    Finish({[Begin EXCEPT !.active = FALSE]}, 0);
  end while;
end process

end algorithm; *)
\* BEGIN TRANSLATION - the hash of the PCal code: PCal-d6753d3e137f402274f944de29928e6e
VARIABLES group, holding, appends, serving, active, failing, log, answers

(* define statement *)
State == <<group, holding, appends, serving, active, failing, log>>
Begin == [group |-> group, holding |-> holding, appends |-> appends, serving |-> serving,
          active |-> active, failing |-> failing, log |-> log, answers |-> {}]


Gate(said) == IF ~active THEN "COORDINATOR_NOT_AVAILABLE"
              ELSE IF serving = "loading" /\ ~Old THEN said
              ELSE IF serving # "served" THEN "NOT_COORDINATOR"
              ELSE ""
Refused == Gate("COORDINATOR_LOAD_IN_PROGRESS")


vars == << group, holding, appends, serving, active, failing, log, answers >>

ProcSet == {"JoinGroup"} \cup {"SyncGroup"} \cup {"Heartbeat"} \cup {"LeaveGroup"} \cup {"OffsetCommit"} \cup {"OffsetFetch"} \cup {"DescribeGroups"} \cup {"TxnOffsetCommit"} \cup {"EndTxn"} \cup {"ListGroups"} \cup {"DeleteGroups"} \cup {"OffsetDelete"} \cup {"Advance"} \cup {"HoldAppends"} \cup {"ReleaseAppends"} \cup {"FailAppends"} \cup {"Crash"} \cup {"Unload"} \cup {"Loading"} \cup {"Load"} \cup {"Shutdown"}

Init == (* Global variables *)
        /\ group = NoGroup
        /\ holding = FALSE
        /\ appends = <<>>
        /\ serving = "served"
        /\ active = TRUE
        /\ failing = Fine
        /\ log = NoLog
        /\ answers = {}

JoinGroup == \E r \in JoinGroupRequests(group, log):
               LET g == Created(Begin).group IN
                 LET s == Created(Begin) IN
                   IF Old /\ ~active
                      THEN /\ \E t \in Ends(({Answer(Begin, (Refusal(Refused, r.memberId)))}), 0):
                                /\ group' = t.group
                                /\ holding' = t.holding
                                /\ appends' = t.appends
                                /\ serving' = t.serving
                                /\ active' = t.active
                                /\ failing' = t.failing
                                /\ log' = t.log
                                /\ answers' = t.answers
                      ELSE /\ IF r.groupId = ""
                                 THEN /\ \E t \in Ends(({Answer(Begin, (Refusal("INVALID_GROUP_ID", r.memberId)))}), 0):
                                           /\ group' = t.group
                                           /\ holding' = t.holding
                                           /\ appends' = t.appends
                                           /\ serving' = t.serving
                                           /\ active' = t.active
                                           /\ failing' = t.failing
                                           /\ log' = t.log
                                           /\ answers' = t.answers
                                 ELSE /\ IF Refused # ""
                                            THEN /\ \E t \in Ends(({Answer(Begin, (Refusal(Refused, r.memberId)))}), 0):
                                                      /\ group' = t.group
                                                      /\ holding' = t.holding
                                                      /\ appends' = t.appends
                                                      /\ serving' = t.serving
                                                      /\ active' = t.active
                                                      /\ failing' = t.failing
                                                      /\ log' = t.log
                                                      /\ answers' = t.answers
                                            ELSE /\ IF r.sessionTicks = 0
                                                       THEN /\ \E t \in Ends(({Answer(Begin, (Refusal("INVALID_SESSION_TIMEOUT", r.memberId)))}), 0):
                                                                 /\ group' = t.group
                                                                 /\ holding' = t.holding
                                                                 /\ appends' = t.appends
                                                                 /\ serving' = t.serving
                                                                 /\ active' = t.active
                                                                 /\ failing' = t.failing
                                                                 /\ log' = t.log
                                                                 /\ answers' = t.answers
                                                       ELSE /\ IF Gone(group) /\ r.memberId # NoMember
                                                                  THEN /\ \E t \in Ends(({Answer(Begin, (Refusal("UNKNOWN_MEMBER_ID", r.memberId)))}), 0):
                                                                            /\ group' = t.group
                                                                            /\ holding' = t.holding
                                                                            /\ appends' = t.appends
                                                                            /\ serving' = t.serving
                                                                            /\ active' = t.active
                                                                            /\ failing' = t.failing
                                                                            /\ log' = t.log
                                                                            /\ answers' = t.answers
                                                                  ELSE /\ IF IsFull(g, r)
                                                                             THEN /\ \E t \in Ends((Joined(TurnAway(s, r))), 0):
                                                                                       /\ group' = t.group
                                                                                       /\ holding' = t.holding
                                                                                       /\ appends' = t.appends
                                                                                       /\ serving' = t.serving
                                                                                       /\ active' = t.active
                                                                                       /\ failing' = t.failing
                                                                                       /\ log' = t.log
                                                                                       /\ answers' = t.answers
                                                                             ELSE /\ IF r.memberId = NoMember
                                                                                        THEN /\ IF Inconsistent(g, r)
                                                                                                   THEN /\ \E t \in Ends((Joined({Inconsistency(s, NoMember)})), 0):
                                                                                                             /\ group' = t.group
                                                                                                             /\ holding' = t.holding
                                                                                                             /\ appends' = t.appends
                                                                                                             /\ serving' = t.serving
                                                                                                             /\ active' = t.active
                                                                                                             /\ failing' = t.failing
                                                                                                             /\ log' = t.log
                                                                                                             /\ answers' = t.answers
                                                                                                   ELSE /\ IF StandsFor(g, r.instance) # NoMember
                                                                                                              THEN /\ \E t \in Ends((Joined(ComeBack(s, r))), 0):
                                                                                                                        /\ group' = t.group
                                                                                                                        /\ holding' = t.holding
                                                                                                                        /\ appends' = t.appends
                                                                                                                        /\ serving' = t.serving
                                                                                                                        /\ active' = t.active
                                                                                                                        /\ failing' = t.failing
                                                                                                                        /\ log' = t.log
                                                                                                                        /\ answers' = t.answers
                                                                                                              ELSE /\ IF r.givesId /\ r.instance = NoInstance
                                                                                                                         THEN /\ \E t \in Ends((Joined({GiveId(s, n) : n \in Free(g, log)})), 0):
                                                                                                                                   /\ group' = t.group
                                                                                                                                   /\ holding' = t.holding
                                                                                                                                   /\ appends' = t.appends
                                                                                                                                   /\ serving' = t.serving
                                                                                                                                   /\ active' = t.active
                                                                                                                                   /\ failing' = t.failing
                                                                                                                                   /\ log' = t.log
                                                                                                                                   /\ answers' = t.answers
                                                                                                                         ELSE /\ \E t \in Ends((Joined(UNION {AddMember(s, n, r) : n \in Free(g, log)})), 0):
                                                                                                                                   /\ group' = t.group
                                                                                                                                   /\ holding' = t.holding
                                                                                                                                   /\ appends' = t.appends
                                                                                                                                   /\ serving' = t.serving
                                                                                                                                   /\ active' = t.active
                                                                                                                                   /\ failing' = t.failing
                                                                                                                                   /\ log' = t.log
                                                                                                                                   /\ answers' = t.answers
                                                                                        ELSE /\ IF Inconsistent(g, r)
                                                                                                   THEN /\ \E t \in Ends((Joined({Inconsistency(s, r.memberId)})), 0):
                                                                                                             /\ group' = t.group
                                                                                                             /\ holding' = t.holding
                                                                                                             /\ appends' = t.appends
                                                                                                             /\ serving' = t.serving
                                                                                                             /\ active' = t.active
                                                                                                             /\ failing' = t.failing
                                                                                                             /\ log' = t.log
                                                                                                             /\ answers' = t.answers
                                                                                                   ELSE /\ IF r.memberId \in DOMAIN g.pending /\ r.instance # NoInstance
                                                                                                              THEN /\ \E t \in Ends((Joined({Answer(s, JoinAnswer(This, "UNKNOWN_SERVER_ERROR", NoMember))})), 0):
                                                                                                                        /\ group' = t.group
                                                                                                                        /\ holding' = t.holding
                                                                                                                        /\ appends' = t.appends
                                                                                                                        /\ serving' = t.serving
                                                                                                                        /\ active' = t.active
                                                                                                                        /\ failing' = t.failing
                                                                                                                        /\ log' = t.log
                                                                                                                        /\ answers' = t.answers
                                                                                                              ELSE /\ IF r.memberId \in DOMAIN g.pending
                                                                                                                         THEN /\ \E t \in Ends((Joined(AddMember(s, r.memberId, r))), 0):
                                                                                                                                   /\ group' = t.group
                                                                                                                                   /\ holding' = t.holding
                                                                                                                                   /\ appends' = t.appends
                                                                                                                                   /\ serving' = t.serving
                                                                                                                                   /\ active' = t.active
                                                                                                                                   /\ failing' = t.failing
                                                                                                                                   /\ log' = t.log
                                                                                                                                   /\ answers' = t.answers
                                                                                                                         ELSE /\ IF Fenced(g, r)
                                                                                                                                    THEN /\ \E t \in Ends((Joined({Answer(s, Refusal("FENCED_INSTANCE_ID", r.memberId))})), 0):
                                                                                                                                              /\ group' = t.group
                                                                                                                                              /\ holding' = t.holding
                                                                                                                                              /\ appends' = t.appends
                                                                                                                                              /\ serving' = t.serving
                                                                                                                                              /\ active' = t.active
                                                                                                                                              /\ failing' = t.failing
                                                                                                                                              /\ log' = t.log
                                                                                                                                              /\ answers' = t.answers
                                                                                                                                    ELSE /\ IF r.instance # NoInstance /\ StandsFor(g, r.instance) = NoMember
                                                                                                                                               THEN /\ \E t \in Ends((Joined({Answer(s, Refusal("UNKNOWN_MEMBER_ID", r.memberId))})), 0):
                                                                                                                                                         /\ group' = t.group
                                                                                                                                                         /\ holding' = t.holding
                                                                                                                                                         /\ appends' = t.appends
                                                                                                                                                         /\ serving' = t.serving
                                                                                                                                                         /\ active' = t.active
                                                                                                                                                         /\ failing' = t.failing
                                                                                                                                                         /\ log' = t.log
                                                                                                                                                         /\ answers' = t.answers
                                                                                                                                               ELSE /\ IF r.memberId \notin DOMAIN g.members
                                                                                                                                                          THEN /\ \E t \in Ends((Joined({Answer(s, Refusal("UNKNOWN_MEMBER_ID", r.memberId))})), 0):
                                                                                                                                                                    /\ group' = t.group
                                                                                                                                                                    /\ holding' = t.holding
                                                                                                                                                                    /\ appends' = t.appends
                                                                                                                                                                    /\ serving' = t.serving
                                                                                                                                                                    /\ active' = t.active
                                                                                                                                                                    /\ failing' = t.failing
                                                                                                                                                                    /\ log' = t.log
                                                                                                                                                                    /\ answers' = t.answers
                                                                                                                                                          ELSE /\ IF g.state = "PreparingRebalance"
                                                                                                                                                                     THEN /\ \E t \in Ends((Joined(Rejoin(s, r))), 0):
                                                                                                                                                                               /\ group' = t.group
                                                                                                                                                                               /\ holding' = t.holding
                                                                                                                                                                               /\ appends' = t.appends
                                                                                                                                                                               /\ serving' = t.serving
                                                                                                                                                                               /\ active' = t.active
                                                                                                                                                                               /\ failing' = t.failing
                                                                                                                                                                               /\ log' = t.log
                                                                                                                                                                               /\ answers' = t.answers
                                                                                                                                                                     ELSE /\ IF g.state = "CompletingRebalance" /\ Unchanged(g, r)
                                                                                                                                                                                THEN /\ \E t \in Ends(({Answer(Begin, (CurrentGeneration(Parked("JoinGroup", r.memberId), g, r.memberId)))}), 0):
                                                                                                                                                                                          /\ group' = t.group
                                                                                                                                                                                          /\ holding' = t.holding
                                                                                                                                                                                          /\ appends' = t.appends
                                                                                                                                                                                          /\ serving' = t.serving
                                                                                                                                                                                          /\ active' = t.active
                                                                                                                                                                                          /\ failing' = t.failing
                                                                                                                                                                                          /\ log' = t.log
                                                                                                                                                                                          /\ answers' = t.answers
                                                                                                                                                                                ELSE /\ IF g.state = "CompletingRebalance"
                                                                                                                                                                                           THEN /\ \E t \in Ends((Joined(Rejoin(s, r))), 0):
                                                                                                                                                                                                     /\ group' = t.group
                                                                                                                                                                                                     /\ holding' = t.holding
                                                                                                                                                                                                     /\ appends' = t.appends
                                                                                                                                                                                                     /\ serving' = t.serving
                                                                                                                                                                                                     /\ active' = t.active
                                                                                                                                                                                                     /\ failing' = t.failing
                                                                                                                                                                                                     /\ log' = t.log
                                                                                                                                                                                                     /\ answers' = t.answers
                                                                                                                                                                                           ELSE /\ IF g.leader = r.memberId
                                                                                                                                                                                                      THEN /\ \E t \in Ends((Joined(Rejoin(s, r))), 0):
                                                                                                                                                                                                                /\ group' = t.group
                                                                                                                                                                                                                /\ holding' = t.holding
                                                                                                                                                                                                                /\ appends' = t.appends
                                                                                                                                                                                                                /\ serving' = t.serving
                                                                                                                                                                                                                /\ active' = t.active
                                                                                                                                                                                                                /\ failing' = t.failing
                                                                                                                                                                                                                /\ log' = t.log
                                                                                                                                                                                                                /\ answers' = t.answers
                                                                                                                                                                                                      ELSE /\ IF ~Unchanged(g, r)
                                                                                                                                                                                                                 THEN /\ \E t \in Ends((Joined(Rejoin(s, r))), 0):
                                                                                                                                                                                                                           /\ group' = t.group
                                                                                                                                                                                                                           /\ holding' = t.holding
                                                                                                                                                                                                                           /\ appends' = t.appends
                                                                                                                                                                                                                           /\ serving' = t.serving
                                                                                                                                                                                                                           /\ active' = t.active
                                                                                                                                                                                                                           /\ failing' = t.failing
                                                                                                                                                                                                                           /\ log' = t.log
                                                                                                                                                                                                                           /\ answers' = t.answers
                                                                                                                                                                                                                 ELSE /\ \E t \in Ends(({Answer(Begin, (CurrentGeneration(Parked("JoinGroup", r.memberId), g, r.memberId)))}), 0):
                                                                                                                                                                                                                           /\ group' = t.group
                                                                                                                                                                                                                           /\ holding' = t.holding
                                                                                                                                                                                                                           /\ appends' = t.appends
                                                                                                                                                                                                                           /\ serving' = t.serving
                                                                                                                                                                                                                           /\ active' = t.active
                                                                                                                                                                                                                           /\ failing' = t.failing
                                                                                                                                                                                                                           /\ log' = t.log
                                                                                                                                                                                                                           /\ answers' = t.answers

SyncGroup == \E r \in SyncGroupRequests(group):
               IF SyncsByProtocol /\ r.protocolType = Null
                  THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL")))}), 0):
                            /\ group' = t.group
                            /\ holding' = t.holding
                            /\ appends' = t.appends
                            /\ serving' = t.serving
                            /\ active' = t.active
                            /\ failing' = t.failing
                            /\ log' = t.log
                            /\ answers' = t.answers
                  ELSE /\ IF ChecksEveryGroupId /\ r.groupId = ""
                             THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "INVALID_GROUP_ID")))}), 0):
                                       /\ group' = t.group
                                       /\ holding' = t.holding
                                       /\ appends' = t.appends
                                       /\ serving' = t.serving
                                       /\ active' = t.active
                                       /\ failing' = t.failing
                                       /\ log' = t.log
                                       /\ answers' = t.answers
                             ELSE /\ IF Gate("REBALANCE_IN_PROGRESS") # ""
                                        THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, Gate("REBALANCE_IN_PROGRESS"))))}), 0):
                                                  /\ group' = t.group
                                                  /\ holding' = t.holding
                                                  /\ appends' = t.appends
                                                  /\ serving' = t.serving
                                                  /\ active' = t.active
                                                  /\ failing' = t.failing
                                                  /\ log' = t.log
                                                  /\ answers' = t.answers
                                        ELSE /\ IF Gone(group) \/ r.groupId = ""
                                                   THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                             /\ group' = t.group
                                                             /\ holding' = t.holding
                                                             /\ appends' = t.appends
                                                             /\ serving' = t.serving
                                                             /\ active' = t.active
                                                             /\ failing' = t.failing
                                                             /\ log' = t.log
                                                             /\ answers' = t.answers
                                                   ELSE /\ IF Fenced(group, r)
                                                              THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "FENCED_INSTANCE_ID")))}), 0):
                                                                        /\ group' = t.group
                                                                        /\ holding' = t.holding
                                                                        /\ appends' = t.appends
                                                                        /\ serving' = t.serving
                                                                        /\ active' = t.active
                                                                        /\ failing' = t.failing
                                                                        /\ log' = t.log
                                                                        /\ answers' = t.answers
                                                              ELSE /\ IF group.state = "Empty" \/ r.memberId \notin DOMAIN group.members
                                                                         THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                                   /\ group' = t.group
                                                                                   /\ holding' = t.holding
                                                                                   /\ appends' = t.appends
                                                                                   /\ serving' = t.serving
                                                                                   /\ active' = t.active
                                                                                   /\ failing' = t.failing
                                                                                   /\ log' = t.log
                                                                                   /\ answers' = t.answers
                                                                         ELSE /\ IF r.generation # group.generation
                                                                                    THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "ILLEGAL_GENERATION")))}), 0):
                                                                                              /\ group' = t.group
                                                                                              /\ holding' = t.holding
                                                                                              /\ appends' = t.appends
                                                                                              /\ serving' = t.serving
                                                                                              /\ active' = t.active
                                                                                              /\ failing' = t.failing
                                                                                              /\ log' = t.log
                                                                                              /\ answers' = t.answers
                                                                                    ELSE /\ IF r.protocolType \notin {Null, group.protocolType}
                                                                                               THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL")))}), 0):
                                                                                                         /\ group' = t.group
                                                                                                         /\ holding' = t.holding
                                                                                                         /\ appends' = t.appends
                                                                                                         /\ serving' = t.serving
                                                                                                         /\ active' = t.active
                                                                                                         /\ failing' = t.failing
                                                                                                         /\ log' = t.log
                                                                                                         /\ answers' = t.answers
                                                                                               ELSE /\ IF /\ r.protocolName \notin {Null, group.protocolName}
                                                                                                          /\ ~(AnyUntilChosen /\ group.protocolName = Null)
                                                                                                          THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "INCONSISTENT_GROUP_PROTOCOL")))}), 0):
                                                                                                                    /\ group' = t.group
                                                                                                                    /\ holding' = t.holding
                                                                                                                    /\ appends' = t.appends
                                                                                                                    /\ serving' = t.serving
                                                                                                                    /\ active' = t.active
                                                                                                                    /\ failing' = t.failing
                                                                                                                    /\ log' = t.log
                                                                                                                    /\ answers' = t.answers
                                                                                                          ELSE /\ IF group.state = "PreparingRebalance"
                                                                                                                     THEN /\ \E t \in Ends(({Answer(Begin, (SyncAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                                                               /\ group' = t.group
                                                                                                                               /\ holding' = t.holding
                                                                                                                               /\ appends' = t.appends
                                                                                                                               /\ serving' = t.serving
                                                                                                                               /\ active' = t.active
                                                                                                                               /\ failing' = t.failing
                                                                                                                               /\ log' = t.log
                                                                                                                               /\ answers' = t.answers
                                                                                                                     ELSE /\ IF group.state = "CompletingRebalance" /\ group.leader = r.memberId
                                                                                                                                THEN /\ \E t \in Ends((StoreAssignments(ParkSync(Begin, r.memberId), r.assignments)), 0):
                                                                                                                                          /\ group' = t.group
                                                                                                                                          /\ holding' = t.holding
                                                                                                                                          /\ appends' = t.appends
                                                                                                                                          /\ serving' = t.serving
                                                                                                                                          /\ active' = t.active
                                                                                                                                          /\ failing' = t.failing
                                                                                                                                          /\ log' = t.log
                                                                                                                                          /\ answers' = t.answers
                                                                                                                                ELSE /\ IF group.state = "CompletingRebalance"
                                                                                                                                           THEN /\ \E t \in Ends(({ParkSync(Begin, r.memberId)}), 0):
                                                                                                                                                     /\ group' = t.group
                                                                                                                                                     /\ holding' = t.holding
                                                                                                                                                     /\ appends' = t.appends
                                                                                                                                                     /\ serving' = t.serving
                                                                                                                                                     /\ active' = t.active
                                                                                                                                                     /\ failing' = t.failing
                                                                                                                                                     /\ log' = t.log
                                                                                                                                                     /\ answers' = t.answers
                                                                                                                                           ELSE /\ \E t \in Ends(({Answer(Synced(Begin, r.memberId),
                                                                                                                                                                          [SyncAnswer(Parked("SyncGroup", r.memberId), "NONE") EXCEPT
                                                                                                                                                                             !.protocolType = group.protocolType, !.protocolName = group.protocolName,
                                                                                                                                                                             !.assignment = group.members[r.memberId].assignment])}), 0):
                                                                                                                                                     /\ group' = t.group
                                                                                                                                                     /\ holding' = t.holding
                                                                                                                                                     /\ appends' = t.appends
                                                                                                                                                     /\ serving' = t.serving
                                                                                                                                                     /\ active' = t.active
                                                                                                                                                     /\ failing' = t.failing
                                                                                                                                                     /\ log' = t.log
                                                                                                                                                     /\ answers' = t.answers

Heartbeat == \E r \in HeartbeatRequests(group):
               IF ChecksEveryGroupId /\ r.groupId = ""
                  THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "INVALID_GROUP_ID")))}), 0):
                            /\ group' = t.group
                            /\ holding' = t.holding
                            /\ appends' = t.appends
                            /\ serving' = t.serving
                            /\ active' = t.active
                            /\ failing' = t.failing
                            /\ log' = t.log
                            /\ answers' = t.answers
                  ELSE /\ IF Gate("NONE") # ""
                             THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, Gate("NONE"))))}), 0):
                                       /\ group' = t.group
                                       /\ holding' = t.holding
                                       /\ appends' = t.appends
                                       /\ serving' = t.serving
                                       /\ active' = t.active
                                       /\ failing' = t.failing
                                       /\ log' = t.log
                                       /\ answers' = t.answers
                             ELSE /\ IF Gone(group) \/ r.groupId = ""
                                        THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                  /\ group' = t.group
                                                  /\ holding' = t.holding
                                                  /\ appends' = t.appends
                                                  /\ serving' = t.serving
                                                  /\ active' = t.active
                                                  /\ failing' = t.failing
                                                  /\ log' = t.log
                                                  /\ answers' = t.answers
                                        ELSE /\ IF Fenced(group, r)
                                                   THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "FENCED_INSTANCE_ID")))}), 0):
                                                             /\ group' = t.group
                                                             /\ holding' = t.holding
                                                             /\ appends' = t.appends
                                                             /\ serving' = t.serving
                                                             /\ active' = t.active
                                                             /\ failing' = t.failing
                                                             /\ log' = t.log
                                                             /\ answers' = t.answers
                                                   ELSE /\ IF ~AliveInPreparing /\ group.state # "Stable"
                                                              THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                        /\ group' = t.group
                                                                        /\ holding' = t.holding
                                                                        /\ appends' = t.appends
                                                                        /\ serving' = t.serving
                                                                        /\ active' = t.active
                                                                        /\ failing' = t.failing
                                                                        /\ log' = t.log
                                                                        /\ answers' = t.answers
                                                              ELSE /\ IF r.memberId \notin DOMAIN group.members
                                                                         THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                                   /\ group' = t.group
                                                                                   /\ holding' = t.holding
                                                                                   /\ appends' = t.appends
                                                                                   /\ serving' = t.serving
                                                                                   /\ active' = t.active
                                                                                   /\ failing' = t.failing
                                                                                   /\ log' = t.log
                                                                                   /\ answers' = t.answers
                                                                         ELSE /\ IF group.state = "CompletingRebalance" /\ ~AliveInCompleting
                                                                                    THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                              /\ group' = t.group
                                                                                              /\ holding' = t.holding
                                                                                              /\ appends' = t.appends
                                                                                              /\ serving' = t.serving
                                                                                              /\ active' = t.active
                                                                                              /\ failing' = t.failing
                                                                                              /\ log' = t.log
                                                                                              /\ answers' = t.answers
                                                                                    ELSE /\ IF r.generation # group.generation
                                                                                               THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "ILLEGAL_GENERATION")))}), 0):
                                                                                                         /\ group' = t.group
                                                                                                         /\ holding' = t.holding
                                                                                                         /\ appends' = t.appends
                                                                                                         /\ serving' = t.serving
                                                                                                         /\ active' = t.active
                                                                                                         /\ failing' = t.failing
                                                                                                         /\ log' = t.log
                                                                                                         /\ answers' = t.answers
                                                                                               ELSE /\ IF group.state = "PreparingRebalance"
                                                                                                          THEN /\ \E t \in Ends(({Answer(Rearmed(Begin, r.memberId), ErrorAnswer(This, "REBALANCE_IN_PROGRESS"))}), 0):
                                                                                                                    /\ group' = t.group
                                                                                                                    /\ holding' = t.holding
                                                                                                                    /\ appends' = t.appends
                                                                                                                    /\ serving' = t.serving
                                                                                                                    /\ active' = t.active
                                                                                                                    /\ failing' = t.failing
                                                                                                                    /\ log' = t.log
                                                                                                                    /\ answers' = t.answers
                                                                                                          ELSE /\ \E t \in Ends(({Answer(Rearmed(Begin, r.memberId), ErrorAnswer(This, "NONE"))}), 0):
                                                                                                                    /\ group' = t.group
                                                                                                                    /\ holding' = t.holding
                                                                                                                    /\ appends' = t.appends
                                                                                                                    /\ serving' = t.serving
                                                                                                                    /\ active' = t.active
                                                                                                                    /\ failing' = t.failing
                                                                                                                    /\ log' = t.log
                                                                                                                    /\ answers' = t.answers

LeaveGroup == \E r \in LeaveGroupRequests(group):
                IF ChecksEveryGroupId /\ r.groupId = ""
                   THEN /\ \E t \in Ends(({Answer(Begin, (LeaveAnswer(r, "INVALID_GROUP_ID", "")))}), 0):
                             /\ group' = t.group
                             /\ holding' = t.holding
                             /\ appends' = t.appends
                             /\ serving' = t.serving
                             /\ active' = t.active
                             /\ failing' = t.failing
                             /\ log' = t.log
                             /\ answers' = t.answers
                   ELSE /\ IF Refused # ""
                              THEN /\ \E t \in Ends(({Answer(Begin, (LeaveAnswer(r, Refused, "")))}), 0):
                                        /\ group' = t.group
                                        /\ holding' = t.holding
                                        /\ appends' = t.appends
                                        /\ serving' = t.serving
                                        /\ active' = t.active
                                        /\ failing' = t.failing
                                        /\ log' = t.log
                                        /\ answers' = t.answers
                              ELSE /\ IF Gone(group) \/ r.groupId = ""
                                         THEN /\ \E t \in Ends(({Answer(Begin, (LeaveAnswer(r, "NONE", "UNKNOWN_MEMBER_ID")))}), 0):
                                                   /\ group' = t.group
                                                   /\ holding' = t.holding
                                                   /\ appends' = t.appends
                                                   /\ serving' = t.serving
                                                   /\ active' = t.active
                                                   /\ failing' = t.failing
                                                   /\ log' = t.log
                                                   /\ answers' = t.answers
                                         ELSE /\ \E t \in Ends((LeaveFrom(Begin, r.members, <<>>, 1)), 0):
                                                   /\ group' = t.group
                                                   /\ holding' = t.holding
                                                   /\ appends' = t.appends
                                                   /\ serving' = t.serving
                                                   /\ active' = t.active
                                                   /\ failing' = t.failing
                                                   /\ log' = t.log
                                                   /\ answers' = t.answers

OffsetCommit == \E r \in OffsetCommitRequests(group):
                  IF r.nothing
                     THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "NONE")))}), 0):
                               /\ group' = t.group
                               /\ holding' = t.holding
                               /\ appends' = t.appends
                               /\ serving' = t.serving
                               /\ active' = t.active
                               /\ failing' = t.failing
                               /\ log' = t.log
                               /\ answers' = t.answers
                     ELSE /\ IF Refused # ""
                                THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, Refused)))}), 0):
                                          /\ group' = t.group
                                          /\ holding' = t.holding
                                          /\ appends' = t.appends
                                          /\ serving' = t.serving
                                          /\ active' = t.active
                                          /\ failing' = t.failing
                                          /\ log' = t.log
                                          /\ answers' = t.answers
                                ELSE /\ IF Gone(group) /\ r.generation < 0
                                           THEN /\ \E t \in Ends((StoreOffsets(OffsetsOnly(Begin), r)), 0):
                                                     /\ group' = t.group
                                                     /\ holding' = t.holding
                                                     /\ appends' = t.appends
                                                     /\ serving' = t.serving
                                                     /\ active' = t.active
                                                     /\ failing' = t.failing
                                                     /\ log' = t.log
                                                     /\ answers' = t.answers
                                           ELSE /\ IF Gone(group)
                                                      THEN /\ \E t \in Ends(({Answer(Begin, (    ErrorAnswer(This,
                                                                       IF SaysNotFound THEN "GROUP_ID_NOT_FOUND" ELSE "ILLEGAL_GENERATION")))}), 0):
                                                                /\ group' = t.group
                                                                /\ holding' = t.holding
                                                                /\ appends' = t.appends
                                                                /\ serving' = t.serving
                                                                /\ active' = t.active
                                                                /\ failing' = t.failing
                                                                /\ log' = t.log
                                                                /\ answers' = t.answers
                                                      ELSE /\ IF Fenced(group, r)
                                                                 THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "FENCED_INSTANCE_ID")))}), 0):
                                                                           /\ group' = t.group
                                                                           /\ holding' = t.holding
                                                                           /\ appends' = t.appends
                                                                           /\ serving' = t.serving
                                                                           /\ active' = t.active
                                                                           /\ failing' = t.failing
                                                                           /\ log' = t.log
                                                                           /\ answers' = t.answers
                                                                 ELSE /\ IF group.state = "Empty" /\ r.generation < 0
                                                                            THEN /\ \E t \in Ends((StoreOffsets(Begin, r)), 0):
                                                                                      /\ group' = t.group
                                                                                      /\ holding' = t.holding
                                                                                      /\ appends' = t.appends
                                                                                      /\ serving' = t.serving
                                                                                      /\ active' = t.active
                                                                                      /\ failing' = t.failing
                                                                                      /\ log' = t.log
                                                                                      /\ answers' = t.answers
                                                                            ELSE /\ IF CompletingFirst /\ group.state = "CompletingRebalance"
                                                                                       THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                                 /\ group' = t.group
                                                                                                 /\ holding' = t.holding
                                                                                                 /\ appends' = t.appends
                                                                                                 /\ serving' = t.serving
                                                                                                 /\ active' = t.active
                                                                                                 /\ failing' = t.failing
                                                                                                 /\ log' = t.log
                                                                                                 /\ answers' = t.answers
                                                                                       ELSE /\ IF r.memberId \notin DOMAIN group.members
                                                                                                  THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "UNKNOWN_MEMBER_ID")))}), 0):
                                                                                                            /\ group' = t.group
                                                                                                            /\ holding' = t.holding
                                                                                                            /\ appends' = t.appends
                                                                                                            /\ serving' = t.serving
                                                                                                            /\ active' = t.active
                                                                                                            /\ failing' = t.failing
                                                                                                            /\ log' = t.log
                                                                                                            /\ answers' = t.answers
                                                                                                  ELSE /\ IF r.generation # group.generation
                                                                                                             THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "ILLEGAL_GENERATION")))}), 0):
                                                                                                                       /\ group' = t.group
                                                                                                                       /\ holding' = t.holding
                                                                                                                       /\ appends' = t.appends
                                                                                                                       /\ serving' = t.serving
                                                                                                                       /\ active' = t.active
                                                                                                                       /\ failing' = t.failing
                                                                                                                       /\ log' = t.log
                                                                                                                       /\ answers' = t.answers
                                                                                                             ELSE /\ IF group.state = "CompletingRebalance"
                                                                                                                        THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "REBALANCE_IN_PROGRESS")))}), 0):
                                                                                                                                  /\ group' = t.group
                                                                                                                                  /\ holding' = t.holding
                                                                                                                                  /\ appends' = t.appends
                                                                                                                                  /\ serving' = t.serving
                                                                                                                                  /\ active' = t.active
                                                                                                                                  /\ failing' = t.failing
                                                                                                                                  /\ log' = t.log
                                                                                                                                  /\ answers' = t.answers
                                                                                                                        ELSE /\ \E t \in Ends((StoreOffsets(Rearmed(Begin, r.memberId), r)), 0):
                                                                                                                                  /\ group' = t.group
                                                                                                                                  /\ holding' = t.holding
                                                                                                                                  /\ appends' = t.appends
                                                                                                                                  /\ serving' = t.serving
                                                                                                                                  /\ active' = t.active
                                                                                                                                  /\ failing' = t.failing
                                                                                                                                  /\ log' = t.log
                                                                                                                                  /\ answers' = t.answers

OffsetFetch == \E r \in OffsetFetchRequests(group):
                 IF Refused # ""
                    THEN /\ \E t \in Ends(({Answer(Begin, ([to |-> This, error |-> Refused, offset |-> NoOffset]))}), 0):
                              /\ group' = t.group
                              /\ holding' = t.holding
                              /\ appends' = t.appends
                              /\ serving' = t.serving
                              /\ active' = t.active
                              /\ failing' = t.failing
                              /\ log' = t.log
                              /\ answers' = t.answers
                    ELSE /\ \E t \in Ends(({Fetched(Begin, r)}), 0):
                              /\ group' = t.group
                              /\ holding' = t.holding
                              /\ appends' = t.appends
                              /\ serving' = t.serving
                              /\ active' = t.active
                              /\ failing' = t.failing
                              /\ log' = t.log
                              /\ answers' = t.answers

DescribeGroups == IF Refused # ""
                     THEN /\ \E t \in Ends(({Answer(Begin, (NotDescribed(Refused)))}), 0):
                               /\ group' = t.group
                               /\ holding' = t.holding
                               /\ appends' = t.appends
                               /\ serving' = t.serving
                               /\ active' = t.active
                               /\ failing' = t.failing
                               /\ log' = t.log
                               /\ answers' = t.answers
                     ELSE /\ \E t \in Ends((Described(Begin)), 0):
                               /\ group' = t.group
                               /\ holding' = t.holding
                               /\ appends' = t.appends
                               /\ serving' = t.serving
                               /\ active' = t.active
                               /\ failing' = t.failing
                               /\ log' = t.log
                               /\ answers' = t.answers

TxnOffsetCommit == \E r \in TxnOffsetCommitRequests(group):
                     LET s == Commenced(Begin) IN
                       IF r.nothing
                          THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "NONE")))}), 0):
                                    /\ group' = t.group
                                    /\ holding' = t.holding
                                    /\ appends' = t.appends
                                    /\ serving' = t.serving
                                    /\ active' = t.active
                                    /\ failing' = t.failing
                                    /\ log' = t.log
                                    /\ answers' = t.answers
                          ELSE /\ IF r.groupId = ""
                                     THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "INVALID_GROUP_ID")))}), 0):
                                               /\ group' = t.group
                                               /\ holding' = t.holding
                                               /\ appends' = t.appends
                                               /\ serving' = t.serving
                                               /\ active' = t.active
                                               /\ failing' = t.failing
                                               /\ log' = t.log
                                               /\ answers' = t.answers
                                     ELSE /\ IF Refused # ""
                                                THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, Refused)))}), 0):
                                                          /\ group' = t.group
                                                          /\ holding' = t.holding
                                                          /\ appends' = t.appends
                                                          /\ serving' = t.serving
                                                          /\ active' = t.active
                                                          /\ failing' = t.failing
                                                          /\ log' = t.log
                                                          /\ answers' = t.answers
                                                ELSE /\ IF Fenced(s.group, r)
                                                           THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "FENCED_INSTANCE_ID")))}), 0):
                                                                     /\ group' = t.group
                                                                     /\ holding' = t.holding
                                                                     /\ appends' = t.appends
                                                                     /\ serving' = t.serving
                                                                     /\ active' = t.active
                                                                     /\ failing' = t.failing
                                                                     /\ log' = t.log
                                                                     /\ answers' = t.answers
                                                           ELSE /\ IF r.memberId # NoMember /\ r.memberId \notin DOMAIN s.group.members
                                                                      THEN /\ \E t \in Ends(({Answer(s, ErrorAnswer(This, "UNKNOWN_MEMBER_ID"))}), 0):
                                                                                /\ group' = t.group
                                                                                /\ holding' = t.holding
                                                                                /\ appends' = t.appends
                                                                                /\ serving' = t.serving
                                                                                /\ active' = t.active
                                                                                /\ failing' = t.failing
                                                                                /\ log' = t.log
                                                                                /\ answers' = t.answers
                                                                      ELSE /\ IF r.generation >= 0 /\ r.generation # s.group.generation
                                                                                 THEN /\ \E t \in Ends(({Answer(s, ErrorAnswer(This, "ILLEGAL_GENERATION"))}), 0):
                                                                                           /\ group' = t.group
                                                                                           /\ holding' = t.holding
                                                                                           /\ appends' = t.appends
                                                                                           /\ serving' = t.serving
                                                                                           /\ active' = t.active
                                                                                           /\ failing' = t.failing
                                                                                           /\ log' = t.log
                                                                                           /\ answers' = t.answers
                                                                                 ELSE /\ \E t \in Ends((StoreTransaction(s, r)), 0):
                                                                                           /\ group' = t.group
                                                                                           /\ holding' = t.holding
                                                                                           /\ appends' = t.appends
                                                                                           /\ serving' = t.serving
                                                                                           /\ active' = t.active
                                                                                           /\ failing' = t.failing
                                                                                           /\ log' = t.log
                                                                                           /\ answers' = t.answers

EndTxn == \E r \in EndTxnRequests(Begin):
            IF r.groupId = ""
               THEN /\ \E t \in Ends(({Answer(Begin, (ErrorAnswer(This, "INVALID_GROUP_ID")))}), 0):
                         /\ group' = t.group
                         /\ holding' = t.holding
                         /\ appends' = t.appends
                         /\ serving' = t.serving
                         /\ active' = t.active
                         /\ failing' = t.failing
                         /\ log' = t.log
                         /\ answers' = t.answers
               ELSE /\ IF ~active
                          THEN /\ \E t \in Ends(({Answer(Marked(Begin, r.committed),
                                                         ErrorAnswer(This, "UNKNOWN_SERVER_ERROR"))}), 0):
                                    /\ group' = t.group
                                    /\ holding' = t.holding
                                    /\ appends' = t.appends
                                    /\ serving' = t.serving
                                    /\ active' = t.active
                                    /\ failing' = t.failing
                                    /\ log' = t.log
                                    /\ answers' = t.answers
                          ELSE /\ IF Gone(group) \/ ~group.awaited
                                     THEN /\ \E t \in Ends(({Answer(Marked(Begin, r.committed), ErrorAnswer(This, "NONE"))}), 0):
                                               /\ group' = t.group
                                               /\ holding' = t.holding
                                               /\ appends' = t.appends
                                               /\ serving' = t.serving
                                               /\ active' = t.active
                                               /\ failing' = t.failing
                                               /\ log' = t.log
                                               /\ answers' = t.answers
                                     ELSE /\ \E t \in Ends(({Answer(Ended(Marked(Begin, r.committed), r.committed),
                                                                    ErrorAnswer(This, "NONE"))}), 0):
                                               /\ group' = t.group
                                               /\ holding' = t.holding
                                               /\ appends' = t.appends
                                               /\ serving' = t.serving
                                               /\ active' = t.active
                                               /\ failing' = t.failing
                                               /\ log' = t.log
                                               /\ answers' = t.answers

ListGroups == \E r \in ListGroupsRequests:
                IF ~active
                   THEN /\ \E t \in Ends(({Answer(Begin, ([to |-> This, error |-> Refused, groups |-> {}]))}), 0):
                             /\ group' = t.group
                             /\ holding' = t.holding
                             /\ appends' = t.appends
                             /\ serving' = t.serving
                             /\ active' = t.active
                             /\ failing' = t.failing
                             /\ log' = t.log
                             /\ answers' = t.answers
                   ELSE /\ IF serving = "loading"
                              THEN /\ \E t \in Ends(({Answer(Begin, ([to |-> This, error |-> "COORDINATOR_LOAD_IN_PROGRESS", groups |-> {}]))}), 0):
                                        /\ group' = t.group
                                        /\ holding' = t.holding
                                        /\ appends' = t.appends
                                        /\ serving' = t.serving
                                        /\ active' = t.active
                                        /\ failing' = t.failing
                                        /\ log' = t.log
                                        /\ answers' = t.answers
                              ELSE /\ \E t \in Ends(({Listed(Begin, r)}), 0):
                                        /\ group' = t.group
                                        /\ holding' = t.holding
                                        /\ appends' = t.appends
                                        /\ serving' = t.serving
                                        /\ active' = t.active
                                        /\ failing' = t.failing
                                        /\ log' = t.log
                                        /\ answers' = t.answers

DeleteGroups == /\ Administered /\ DeletesGroups
                /\ IF Refused # ""
                      THEN /\ \E t \in Ends(({Answer(Begin, (DeleteAnswer("NONE", {Refused})))}), 0):
                                /\ group' = t.group
                                /\ holding' = t.holding
                                /\ appends' = t.appends
                                /\ serving' = t.serving
                                /\ active' = t.active
                                /\ failing' = t.failing
                                /\ log' = t.log
                                /\ answers' = t.answers
                      ELSE /\ IF Gone(group)
                                 THEN /\ \E t \in Ends(({Answer(Begin, (DeleteAnswer("NONE", {"GROUP_ID_NOT_FOUND"})))}), 0):
                                           /\ group' = t.group
                                           /\ holding' = t.holding
                                           /\ appends' = t.appends
                                           /\ serving' = t.serving
                                           /\ active' = t.active
                                           /\ failing' = t.failing
                                           /\ log' = t.log
                                           /\ answers' = t.answers
                                 ELSE /\ IF group.state # "Empty"
                                            THEN /\ \E t \in Ends(({Answer(Begin, (DeleteAnswer("NONE", {"NON_EMPTY_GROUP"})))}), 0):
                                                      /\ group' = t.group
                                                      /\ holding' = t.holding
                                                      /\ appends' = t.appends
                                                      /\ serving' = t.serving
                                                      /\ active' = t.active
                                                      /\ failing' = t.failing
                                                      /\ log' = t.log
                                                      /\ answers' = t.answers
                                            ELSE /\ \E t \in Ends(({Answer(Deleted(Removed(Begin, group.offset # NoOffset, TRUE)),
                                                                           DeleteAnswer("NONE", {"NONE"}))}), 0):
                                                      /\ group' = t.group
                                                      /\ holding' = t.holding
                                                      /\ appends' = t.appends
                                                      /\ serving' = t.serving
                                                      /\ active' = t.active
                                                      /\ failing' = t.failing
                                                      /\ log' = t.log
                                                      /\ answers' = t.answers

OffsetDelete == \E r \in OffsetDeleteRequests(group):
                  IF r.groupId = ""
                     THEN /\ \E t \in Ends(({Answer(Begin, (DeleteAnswer("INVALID_GROUP_ID", {})))}), 0):
                               /\ group' = t.group
                               /\ holding' = t.holding
                               /\ appends' = t.appends
                               /\ serving' = t.serving
                               /\ active' = t.active
                               /\ failing' = t.failing
                               /\ log' = t.log
                               /\ answers' = t.answers
                     ELSE /\ IF Refused # ""
                                THEN /\ \E t \in Ends(({Answer(Begin, (DeleteAnswer(Refused, {})))}), 0):
                                          /\ group' = t.group
                                          /\ holding' = t.holding
                                          /\ appends' = t.appends
                                          /\ serving' = t.serving
                                          /\ active' = t.active
                                          /\ failing' = t.failing
                                          /\ log' = t.log
                                          /\ answers' = t.answers
                                ELSE /\ IF Gone(group)
                                           THEN /\ \E t \in Ends(({Answer(Begin, (DeleteAnswer("GROUP_ID_NOT_FOUND", {})))}), 0):
                                                     /\ group' = t.group
                                                     /\ holding' = t.holding
                                                     /\ appends' = t.appends
                                                     /\ serving' = t.serving
                                                     /\ active' = t.active
                                                     /\ failing' = t.failing
                                                     /\ log' = t.log
                                                     /\ answers' = t.answers
                                           ELSE /\ IF group.state = "Empty"
                                                      THEN /\ \E t \in Ends(({Answer(OffsetDeleted(Begin, r.topic), DeleteAnswer("NONE", {"NONE"}))}), 0):
                                                                /\ group' = t.group
                                                                /\ holding' = t.holding
                                                                /\ appends' = t.appends
                                                                /\ serving' = t.serving
                                                                /\ active' = t.active
                                                                /\ failing' = t.failing
                                                                /\ log' = t.log
                                                                /\ answers' = t.answers
                                                      ELSE /\ IF group.protocolType = "consumer" /\ r.topic \in group.subscribed
                                                                 THEN /\ \E t \in Ends(({Answer(Begin, (DeleteAnswer("NONE", {"GROUP_SUBSCRIBED_TO_TOPIC"})))}), 0):
                                                                           /\ group' = t.group
                                                                           /\ holding' = t.holding
                                                                           /\ appends' = t.appends
                                                                           /\ serving' = t.serving
                                                                           /\ active' = t.active
                                                                           /\ failing' = t.failing
                                                                           /\ log' = t.log
                                                                           /\ answers' = t.answers
                                                                 ELSE /\ IF group.protocolType = "consumer"
                                                                            THEN /\ \E t \in Ends(({Answer(OffsetDeleted(Begin, r.topic), DeleteAnswer("NONE", {"NONE"}))}), 0):
                                                                                      /\ group' = t.group
                                                                                      /\ holding' = t.holding
                                                                                      /\ appends' = t.appends
                                                                                      /\ serving' = t.serving
                                                                                      /\ active' = t.active
                                                                                      /\ failing' = t.failing
                                                                                      /\ log' = t.log
                                                                                      /\ answers' = t.answers
                                                                            ELSE /\ \E t \in Ends(({Answer(Begin, (DeleteAnswer("NON_EMPTY_GROUP", {})))}), 0):
                                                                                      /\ group' = t.group
                                                                                      /\ holding' = t.holding
                                                                                      /\ appends' = t.appends
                                                                                      /\ serving' = t.serving
                                                                                      /\ active' = t.active
                                                                                      /\ failing' = t.failing
                                                                                      /\ log' = t.log
                                                                                      /\ answers' = t.answers

Advance == IF Timed
              THEN /\ \E t \in Ends(({Begin}), 1):
                        /\ group' = t.group
                        /\ holding' = t.holding
                        /\ appends' = t.appends
                        /\ serving' = t.serving
                        /\ active' = t.active
                        /\ failing' = t.failing
                        /\ log' = t.log
                        /\ answers' = t.answers
              ELSE /\ group # NoGroup /\ group.joinTimer.initial
                   /\ \E t \in Ends(({Begin}), (group.joinTimer.left)):
                        /\ group' = t.group
                        /\ holding' = t.holding
                        /\ appends' = t.appends
                        /\ serving' = t.serving
                        /\ active' = t.active
                        /\ failing' = t.failing
                        /\ log' = t.log
                        /\ answers' = t.answers

HoldAppends == /\ MaxHeld > 0 /\ ~holding
               /\ \E t \in Ends(({[Begin EXCEPT !.holding = TRUE]}), 0):
                    /\ group' = t.group
                    /\ holding' = t.holding
                    /\ appends' = t.appends
                    /\ serving' = t.serving
                    /\ active' = t.active
                    /\ failing' = t.failing
                    /\ log' = t.log
                    /\ answers' = t.answers

ReleaseAppends == /\ holding
                  /\ \E t \in Ends((Released(Begin)), 0):
                       /\ group' = t.group
                       /\ holding' = t.holding
                       /\ appends' = t.appends
                       /\ serving' = t.serving
                       /\ active' = t.active
                       /\ failing' = t.failing
                       /\ log' = t.log
                       /\ answers' = t.answers

FailAppends == /\ Fails /\ failing = Fine
               /\ \E error \in {"NOT_ENOUGH_REPLICAS", "REQUEST_TIMED_OUT"}:
                    \E t \in Ends(({[Begin EXCEPT !.failing = error]}), 0):
                      /\ group' = t.group
                      /\ holding' = t.holding
                      /\ appends' = t.appends
                      /\ serving' = t.serving
                      /\ active' = t.active
                      /\ failing' = t.failing
                      /\ log' = t.log
                      /\ answers' = t.answers

Crash == /\ Logged
         /\ \E t \in Ends(({Crashed(Begin)}), 0):
              /\ group' = t.group
              /\ holding' = t.holding
              /\ appends' = t.appends
              /\ serving' = t.serving
              /\ active' = t.active
              /\ failing' = t.failing
              /\ log' = t.log
              /\ answers' = t.answers

Unload == /\ Moves /\ active /\ serving # "unloaded"
          /\ \E t \in Ends(({Unloaded(Begin)}), 0):
               /\ group' = t.group
               /\ holding' = t.holding
               /\ appends' = t.appends
               /\ serving' = t.serving
               /\ active' = t.active
               /\ failing' = t.failing
               /\ log' = t.log
               /\ answers' = t.answers

Loading == /\ Moves /\ active /\ serving # "loading"
           /\ \E t \in Ends(({[Unloaded(Begin) EXCEPT !.serving = "loading"]}), 0):
                /\ group' = t.group
                /\ holding' = t.holding
                /\ appends' = t.appends
                /\ serving' = t.serving
                /\ active' = t.active
                /\ failing' = t.failing
                /\ log' = t.log
                /\ answers' = t.answers

Load == /\ Moves /\ active /\ serving # "served"
        /\ \E t \in Ends(({Loaded(Begin)}), 0):
             /\ group' = t.group
             /\ holding' = t.holding
             /\ appends' = t.appends
             /\ serving' = t.serving
             /\ active' = t.active
             /\ failing' = t.failing
             /\ log' = t.log
             /\ answers' = t.answers

Shutdown == /\ Moves /\ active
            /\ \E t \in Ends(({[Begin EXCEPT !.active = FALSE]}), 0):
                 /\ group' = t.group
                 /\ holding' = t.holding
                 /\ appends' = t.appends
                 /\ serving' = t.serving
                 /\ active' = t.active
                 /\ failing' = t.failing
                 /\ log' = t.log
                 /\ answers' = t.answers

Next == JoinGroup \/ SyncGroup \/ Heartbeat \/ LeaveGroup \/ OffsetCommit
           \/ OffsetFetch \/ DescribeGroups \/ TxnOffsetCommit \/ EndTxn
           \/ ListGroups \/ DeleteGroups \/ OffsetDelete \/ Advance
           \/ HoldAppends \/ ReleaseAppends \/ FailAppends \/ Crash \/ Unload
           \/ Loading \/ Load \/ Shutdown

Spec == Init /\ [][Next]_vars

\* END TRANSLATION - the hash of the generated TLA code (remove to silence divergence warnings): TLA-74176343e52c36ed43bbc336821e9ee9
=============================================================================

------------------------------ MODULE Rebalance ------------------------------
(* How a rebalance begins and ends, and how a group gains and loses members.  *)
EXTENDS Records

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

\* The members, each with its metadata for the chosen protocol.
ListedMembers(g) == [n \in DOMAIN g.members |-> MetadataOf(g.members[n], g.protocolName)]

\* In Stable a leader does not get the list either: it does not assign again. GC:327
CurrentGeneration(to, g, n) ==
  [JoinAnswer(to, "NONE", n) EXCEPT
     !.generation = g.generation, !.leader = g.leader,
     !.protocolType = g.protocolType, !.protocolName = g.protocolName,
     !.members = IF n = g.leader /\ g.state = "CompletingRebalance"
                 THEN ListedMembers(g) ELSE NoEntries]

\* If the leader is dropped, any other member may become the leader. GM:259
DropMembers(s, names) ==
  LET left == Without(s.group.members, names)
      statics == s.group.statics
      g == [s.group EXCEPT
              !.members = left,
              !.statics = [i \in DOMAIN statics |->
                IF statics[i] \in names THEN RemovedId ELSE statics[i]]]
      t == [s EXCEPT !.appends = [i \in DOMAIN @ |->
              [s.appends[i] EXCEPT !.memberId = IF @ \in names THEN NoMember ELSE @]]]
  IN IF s.group.leader \notin names THEN {[t EXCEPT !.group = g]}
     ELSE IF DOMAIN left = {} THEN {[t EXCEPT !.group = [g EXCEPT !.leader = NoMember]]}
     ELSE {[Apply(t, "rebalance/elect-leader") EXCEPT !.group = [g EXCEPT !.leader = n]]
           : n \in DOMAIN left}

\* GM:350
ForgetInstance(s, instance) == [s EXCEPT !.group.statics = Without(@, {instance})]

\* The session timers of members that are dropped run on. 0.10.2 GC:685
KeepTimers(g, dropped) ==
  LET left == {g.members[n].sessionLeft : n \in dropped} \ {Stopped}
      count(k) == Cardinality({n \in dropped : g.members[n].sessionLeft = k})
      before(k) == IF k \in DOMAIN g.orphanedTimers THEN g.orphanedTimers[k] ELSE 0
  IN [k \in DOMAIN g.orphanedTimers \cup left |-> before(k) + count(k)]

DropNotRejoined(s, absent) ==
  IF absent = {} THEN {s}
  ELSE LET kept == [Apply(s, "rebalance/drop-not-rejoined") EXCEPT !.group.orphanedTimers =
                      IF DroppedTimersRun THEN KeepTimers(s.group, absent) ELSE @]
       IN DropMembers(kept, absent)

\* The JoinGroup of the member is answered, and its session timer restarts.
StartMemberGeneration(m) ==
  [RestartTimer([m EXCEPT !.awaitingJoin = FALSE]) EXCEPT
     !.isNew = FALSE, !.idKnown = @ \/ m.awaitingJoin, !.unsynced = SyncsExpire]

\* The topics that the members of a new generation subscribe to. GM:468
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
          !.members = [n \in DOMAIN g.members |-> StartMemberGeneration(g.members[n])]]]

\* The offsets stay. Assignments whose append is not complete are dropped. 0.10.0 GC:657
MarkDead(s) ==
  [RemoveGroup(Apply(s, "rebalance/complete-dead")) EXCEPT
     !.group = [NewGroup EXCEPT !.state = "Dead", !.offset = s.group.offset,
                                !.unstable = s.group.unstable],
     !.appends = [i \in DOMAIN s.appends |-> [s.appends[i] EXCEPT !.generation = 0]]]

\* A member that has joined becomes the leader. GM:276
ElectJoinedLeader(s) ==
  LET g == s.group
      joined == {n \in DOMAIN g.members : g.members[n].awaitingJoin}
  IN IF DOMAIN g.members = {} \/ g.leader \in joined THEN {s}
     ELSE {[Apply(s, "rebalance/elect-joined-leader") EXCEPT !.group.leader = n] : n \in joined}

\* The join phase ends with the members that joined. Static members may be absent. GC:1183
CompleteJoin(s) ==
  LET absent == {n \in DOMAIN s.group.members : /\ ~s.group.members[n].awaitingJoin
                                                /\ s.group.members[n].instance = NoInstance
                                                /\ ~s.group.members[n].nullInstance}
      \* No member has joined. GC:1199
      again(t) == [Apply(t, "rebalance/no-member-rejoined") EXCEPT
                     !.group.joinTimer = [NoTimer EXCEPT !.left = Max(RebalanceTimeout, 1)]]
      raised(t) == [t EXCEPT !.group.generation = @ + 1, !.group.joinTimer = NoTimer]
      ended(t) ==
        LET members == t.group.members
            names == SelectProtocol(members)
        IN IF DOMAIN members = {}
           THEN RecordEmpty([Apply(t, "rebalance/complete-empty") EXCEPT
                               !.group.state = "Empty", !.group.protocolName = Null,
                               !.group.emptyLeft = IF Expires /\ RetainedFromEmpty
                                                   THEN RetentionTicks ELSE @,
                               !.group.subscribed = Subscribed(t.group, Null)])
           ELSE IF names # {}
           THEN {BeginGeneration(Apply(t, "rebalance/complete"), name) : name \in names}
           \* The only member offers no protocol, and Kafka throws half-way. KAFKA-6005
           ELSE {Answer(Apply(t, "rebalance/no-protocol"),
                        JoinAnswer(This, "UNKNOWN_SERVER_ERROR", NoMember))}
      led(t) == IF ElectJoinedLeader(t) = {} THEN {again(t)}
                ELSE UNION {ended(raised(u)) : u \in ElectJoinedLeader(t)}
  IN UNION {IF EmptyGroupsDie /\ DOMAIN t.group.members = {} THEN {MarkDead(t)} ELSE led(t)
            : t \in DropNotRejoined(s, absent)}

AllJoined(g) ==  \* A pending id counts as a member that has not joined. GC:1171
  /\ g.joinTimer # NoTimer
  /\ DOMAIN g.pending = {}
  /\ \A n \in DOMAIN g.members : g.members[n].awaitingJoin

\* A member that joins or leaves does not end the initial delay.
CheckJoinComplete(s) ==
  IF AllJoined(s.group) /\ ~s.group.joinTimer.initial THEN CompleteJoin(s) ELSE {s}

\* A member that expires may end it. 4.1 GMM:6765,6786
CheckJoinCompleteAfterRemoval(s) ==
  IF ExpiryEndsDelay /\ AllJoined(s.group) THEN CompleteJoin(s) ELSE CheckJoinComplete(s)

\* GC:1123
PrepareRebalance(s) ==
  LET t == CASE s.group.state = "CompletingRebalance" ->
                  PropagateAssignment(Apply(s, "rebalance/prepare-from-completing"),
                                      "REBALANCE_IN_PROGRESS")
             [] s.group.state = "Stable" -> Apply(s, "rebalance/prepare-from-stable")
             [] s.group.state = "Empty"  -> Apply(s, "rebalance/prepare-from-empty")
      g == t.group
      timeout == IF DOMAIN g.members = {} THEN 0 ELSE RebalanceTimeout
      timer == IF g.state = "Empty" /\ InitialDelay
               THEN [left |-> DelayTicks, initial |-> TRUE, round |-> DelayTicks,
                     extension |-> Max(timeout - DelayTicks, 0)]
               ELSE [NoTimer EXCEPT !.left = timeout]
  IN CheckJoinComplete([t EXCEPT !.forgottenJoin = Stopped, !.group =
       [g EXCEPT !.state = "PreparingRebalance", !.joinTimer = timer, !.syncLeft = Stopped,
          !.emptyLeft = Stopped,
          !.lostSync = FALSE,
          !.members = [n \in DOMAIN g.members |->
            [g.members[n] EXCEPT
               !.assignment = IF AssignmentsStay /\ g.state # "CompletingRebalance" THEN @ ELSE "",
               !.unsynced = FALSE]]]])

MaybePrepareRebalance(s) ==  \* GC:1115
  IF s.group.state = "PreparingRebalance" THEN {s} ELSE PrepareRebalance(s)

\* GC:990
AddMember(s, n, r) ==
  LET g == s.group
      m == [protocols |-> r.protocols, isNew |-> NewMembersExpire,
            idKnown |-> n \in DOMAIN g.pending,
            sessionLeft |-> IF NewMembersExpire THEN NewMemberTicks ELSE Stopped,
            awaitingJoin |-> TRUE, awaitingSync |-> FALSE, assignment |-> "",
            instance |-> r.instance,
            nullInstance |-> FALSE,  \* whether it counts as static all the same
            unsynced |-> FALSE]  \* whether the generation waits for its SyncGroup
      grows == IF EveryDelayGrows THEN g.joinTimer.initial
               ELSE g.state = "PreparingRebalance" /\ g.generation = 0
  IN MaybePrepareRebalance([s EXCEPT !.parks = n, !.group =
       [g EXCEPT
          !.members = With(@, n, m), !.pending = Without(@, {n}),
          !.protocolType = IF DOMAIN g.members = {} THEN r.protocolType ELSE @,
          !.leader = IF @ = NoMember THEN n ELSE @,
          !.statics = IF r.instance = NoInstance THEN @ ELSE With(@, r.instance, n),
          !.newMemberAdded = @ \/ grows]])

\* An earlier JoinGroup of the member that is still parked is never answered. GM:496
ParkJoin(s, n, protocols) ==
  [DropParkedBefore(s, "JoinGroup", n) EXCEPT !.parks = n, !.group.members[n] =
     [@ EXCEPT !.protocols = protocols, !.awaitingJoin = TRUE,
               !.sessionLeft = IF s.group.members[n].isNew THEN @ ELSE Stopped]]

\* A parked JoinGroup gets UNKNOWN_MEMBER_ID; a parked SyncGroup is never answered. GC:1147
RemoveFromGroup(s, n) ==
  LET t == IF s.group.members[n].awaitingJoin /\ RemovedAreAnswered
           THEN Answer(s, JoinAnswer(Parked("JoinGroup", n), "UNKNOWN_MEMBER_ID", NoMember))
           ELSE s
  IN {ForgetInstance(u, s.group.members[n].instance) : u \in DropMembers(t, {n})}

RemoveMember(s, n) ==
  UNION {IF t.group.state = "PreparingRebalance"
         THEN CheckJoinCompleteAfterRemoval(t) ELSE PrepareRebalance(t)
         : t \in RemoveFromGroup(s, n)}

DropPendingId(s, n) == [s EXCEPT !.group.pending = Without(@, {n})]

\* GC:1163
RemovePending(s, n) ==
  LET t == DropPendingId(s, n)
  IN IF t.group.state = "PreparingRebalance" THEN CheckJoinCompleteAfterRemoval(t) ELSE {t}

==============================================================================

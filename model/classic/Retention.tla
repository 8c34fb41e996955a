------------------------------ MODULE Retention ------------------------------
(* How long offsets are retained, and how that time passes.                   *)
EXTENDS State

\* What is left at the least: 0, or -1 where the time must have passed.
LeastLeft == IF RetainedFromEmpty THEN 0 ELSE -1

\* An offset that was committed r.age ticks before the request, with a retention of its own unless
\* that is Stopped. Where every offset has its own retention, it does not matter whether the request
\* or the broker set it. KafkaApis.scala:481, 0.10.2 KafkaApis.scala:323
Committed(at, r) ==
  IF ~Expires THEN [NoOffset EXCEPT !.at = at]
  ELSE IF r.retention = Stopped
  THEN [NoOffset EXCEPT !.at = at, !.left = Max(RetentionTicks - r.age, LeastLeft)]
  ELSE [at |-> at, left |-> r.retention, fixed |-> RetainedFromEmpty]

AgedOffset(offset, ticks) ==
  [offset EXCEPT !.left = IF @ = Forever THEN @ ELSE Max(@ - ticks, LeastLeft)]
AgedEmpty(left, ticks) == IF left = Stopped THEN left ELSE Max(left - ticks, 0)

\* Time passes for offsets in the group, in the log and in appends.
AgeOffsets(s, ticks) ==
  LET t == [s EXCEPT
              !.log.offset = AgedOffset(@, ticks),
              !.log.transaction.offset = AgedOffset(@, ticks),
              !.log.group = IF @ = NoRecord THEN @
                            ELSE [@ EXCEPT !.emptyLeft = AgedEmpty(@, ticks)],
              !.appends = [i \in DOMAIN @ |->
                [s.appends[i] EXCEPT !.offset = AgedOffset(@, ticks)]]]
  IN IF ~Expires THEN s
     ELSE IF s.group = NoGroup THEN t
     ELSE [t EXCEPT !.group.offset = AgedOffset(@, ticks),
                    !.group.transaction.offset = AgedOffset(@, ticks),
                    !.group.emptyLeft = AgedEmpty(@, ticks)]

==============================================================================

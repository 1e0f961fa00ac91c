//! Waking: nothing lost, nobody woken in vain, nothing kept for ever.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use super::*;

const LANE: Bell = Bell::Lane(1);
const NOW: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_mins(1);

#[test]
fn a_ring_after_the_subscription_is_heard_later() {
    let bells = Bells::default();
    let mut listener = bells.subscribe(Bell::Job(1));
    bells.ring(Bell::Job(1));
    assert!(listener.wait_timeout(NOW));
    assert!(!listener.wait_timeout(NOW));
}

#[test]
fn unheard_rings_are_one_ring() {
    let bells = Bells::default();
    let mut listener = bells.subscribe(LANE);
    (0..1_000).for_each(|_| bells.ring(LANE));
    assert!(listener.wait_timeout(NOW));
    assert!(!listener.wait_timeout(NOW));
}

#[test]
fn a_lane_wakes_as_many_as_it_rings() {
    let bells = Bells::default();
    let mut listeners: Vec<_> = (0..5).map(|_| bells.subscribe(LANE)).collect();
    bells.ring(LANE);
    bells.ring(LANE);
    let heard = listeners
        .iter_mut()
        .filter_map(|one| one.wait_timeout(NOW).then_some(()))
        .count();
    assert_eq!(heard, 2);
}

#[test]
fn rings_of_a_lane_are_counted_and_so_are_rings_that_may_have_been_missed() {
    let bells = Bells::default();
    let before = bells.rings_of_lanes(&[1, 2]);
    bells.ring(Bell::Lane(3));
    bells.ring(Bell::Job(1));
    assert_eq!(bells.rings_of_lanes(&[1, 2]), before);
    bells.ring(Bell::Lane(2));
    assert_eq!(bells.rings_of_lanes(&[1, 2]), before + 1);
    bells.ring_everything();
    assert_eq!(bells.rings_of_lanes(&[1]), before + 1);
}

#[test]
fn every_other_bell_wakes_all() {
    let bells = Bells::default();
    let mut listeners: Vec<_> = (0..5).map(|_| bells.subscribe(Bell::Kernel)).collect();
    bells.ring(Bell::Kernel);
    assert!(listeners.iter_mut().all(|one| one.wait_timeout(NOW)));
}

#[test]
fn those_who_wait_are_woken_before_those_who_look() {
    let bells = Bells::default();
    let mut looking = bells.subscribe(LANE);
    let mut waiting = bells.subscribe(LANE);
    let (waker, woken) = counter();
    {
        let mut heard = pin!(waiting.heard());
        assert!(
            heard
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        bells.ring(LANE);
        assert_eq!(woken.load(Ordering::SeqCst), 1);
        assert!(
            heard
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_ready()
        );
    }
    assert!(!looking.wait_timeout(NOW));
}

#[test]
fn the_ring_of_a_listener_that_leaves_goes_to_another() {
    let bells = Bells::default();
    let leaving = bells.subscribe(LANE);
    bells.ring(LANE);
    let mut staying = bells.subscribe(LANE);
    assert!(!staying.wait_timeout(NOW));
    drop(leaving);
    assert!(staying.wait_timeout(NOW));
}

#[test]
fn a_ring_between_two_waits_is_not_lost_with_the_first() {
    let bells = Bells::default();
    let mut listener = bells.subscribe(LANE);
    let (waker, _) = counter();
    assert!(is_pending(&mut listener, &waker));
    bells.ring(LANE);
    assert!(listener.wait_timeout(NOW));
}

#[test]
fn one_listener_hears_several_lanes_and_leaves_the_others_to_others() {
    let bells = Bells::default();
    let mut both = bells.subscribe_to([Bell::Lane(1), Bell::Lane(2)]);
    bells.ring(Bell::Lane(2));
    assert!(both.wait_timeout(NOW));
    bells.ring(Bell::Lane(1));
    assert!(both.wait_timeout(NOW));
}

#[test]
fn a_thread_is_woken_from_its_wait() {
    let bells = Bells::default();
    let mut listener = bells.subscribe(LANE);
    let thread = std::thread::spawn(move || listener.wait_timeout(LONG));
    bells.ring(LANE);
    assert!(thread.join().unwrap());
}

#[test]
fn nothing_is_kept_of_listeners_that_left_and_bells_nobody_hears() {
    let bells = Bells::default();
    for job in 0..1_000 {
        drop(bells.subscribe(Bell::Job(job)));
        bells.ring(Bell::Job(job));
    }
    let hub = lock(&bells.hub);
    assert!(hub.listeners.is_empty() && hub.bells.is_empty());
}

#[test]
fn after_a_gap_everyone_looks_again() {
    let bells = Bells::default();
    let mut listeners = [
        bells.subscribe(LANE),
        bells.subscribe(Bell::Job(3)),
        bells.subscribe(LANE),
    ];
    bells.ring_everything();
    assert!(listeners.iter_mut().all(|one| one.wait_timeout(NOW)));
}

#[test]
fn a_job_s_listener_is_woken_between_two_waits_of_one_task() {
    let bells = Bells::default();
    let mut listener = bells.subscribe_to([Bell::Job(1), Bell::Runner(1)]);
    let (waker, woken) = counter();
    for bell in [Bell::Job(1), Bell::Runner(1)] {
        assert!(is_pending(&mut listener, &waker));
        assert!(is_pending(&mut listener, &waker));
        let before = woken.load(Ordering::SeqCst);
        bells.ring(bell);
        assert_eq!(woken.load(Ordering::SeqCst), before + 1);
        assert!(!is_pending(&mut listener, &waker));
    }
    let (another, woken) = counter();
    assert!(is_pending(&mut listener, &waker));
    assert!(is_pending(&mut listener, &another));
    bells.ring(Bell::Job(1));
    assert_eq!(woken.load(Ordering::SeqCst), 1);
}

#[test]
fn no_ring_is_lost_to_a_task_that_looks_while_it_is_rung() {
    const RINGS: usize = 20_000;
    let bells = Bells::default();
    let mut listener = bells.subscribe(Bell::Job(1));
    let (sender, woken) = sync_channel(1);
    let waker = Waker::from(Arc::new(Signal(sender)));
    let (heard, answers) = sync_channel(1);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..RINGS {
                while is_pending(&mut listener, &waker) {
                    if woken.recv_timeout(LONG).is_err() {
                        return;
                    }
                }
                heard.send(()).unwrap();
            }
        });
        for _ in 0..RINGS {
            bells.ring(Bell::Job(1));
            answers.recv().expect("the ring was heard");
        }
    });
}

fn is_pending(listener: &mut Listener, waker: &Waker) -> bool {
    pin!(listener.heard())
        .poll(&mut Context::from_waker(waker))
        .is_pending()
}

struct Counter(Arc<AtomicUsize>);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn counter() -> (Waker, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    (Waker::from(Arc::new(Counter(Arc::clone(&count)))), count)
}

// Times and sizes as people read them.

let offset = 0; // seconds by which the clock of the machine with the runs is ahead of ours

export function setClock(now) {
  offset = now - Date.now() / 1000;
}

export function now() {
  return Date.now() / 1000 + offset;
}

export function duration(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  return `${hours}:${two(minutes)}:${two(whole % 60)}`;
}

// For marks of a scale: without hours if there are none.
export function short(seconds, longest) {
  return longest < 3600 ? duration(seconds).slice(seconds < 600 ? 3 : 2) : duration(seconds);
}

const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit", minute: "2-digit", hourCycle: "h23",
});
const SECONDS = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
});

export function clock(at) {
  return SECONDS.format(new Date(at * 1000));
}

export function moment(at) {
  const date = new Date(at * 1000);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? `today ${CLOCK.format(date)}` : `${DAY.format(date)}, ${CLOCK.format(date)}`;
}

export function exactly(at) {
  return new Date(at * 1000).toLocaleString();
}

export function bytes(number) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let amount = number;
  let unit = 0;
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${amount >= 100 || unit === 0 ? amount.toFixed(0) : amount.toFixed(1)} ${units[unit]}`;
}

export function percent(number) {
  return `${number.toFixed(0)} %`;
}

export function stateOf(run) {
  if (run.adoptable_until) {
    return `lost, can be adopted until ${CLOCK.format(new Date(run.adoptable_until * 1000))}`;
  }
  return run.code ? `${run.phase} (${run.code})` : run.phase;
}

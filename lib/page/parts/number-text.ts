// Formats numbers, times and durations for people.

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** `14:03:09` */
export function clockText(at: number): string {
  const time = new Date(at)
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':')
}

/** `2026-11-15 14:03:09` */
export function dateText(at: number): string {
  const time = new Date(at)
  const day = [time.getFullYear(), time.getMonth() + 1, time.getDate()]
    .map((part) => String(part).padStart(2, '0'))
    .join('-')
  return `${day} ${clockText(at)}`
}

/** `4 s`, `12 min`, `3 h 20 min`, `5 d 2 h` */
export function spanText(ms: number): string {
  const left = Math.max(ms, 0)
  if (left < MINUTE) return `${Math.floor(left / SECOND)} s`
  if (left < HOUR) return `${Math.floor(left / MINUTE)} min`
  if (left < DAY) return twoParts(left, [HOUR, 'h'], [MINUTE, 'min'])
  return twoParts(left, [DAY, 'd'], [HOUR, 'h'])
}

type Unit = readonly [ms: number, name: string]

function twoParts(ms: number, [large, largeName]: Unit, [small, smallName]: Unit): string {
  const rest = Math.floor((ms % large) / small)
  const first = `${Math.floor(ms / large)} ${largeName}`
  return rest === 0 ? first : `${first} ${rest} ${smallName}`
}

/** `0`, `0.4`, `12`, `1,204`, `31.2k`, `4.1M` */
export function countText(value: number): string {
  if (value >= 999_950) return `${shortened(value / 1e6)}M`
  if (value >= 9_999.5) return `${shortened(value / 1e3)}k`
  if (value >= 1_000) return Math.round(value).toLocaleString('en-US')
  return value < 10 && !Number.isInteger(value) ? value.toFixed(1) : String(Math.round(value))
}

function shortened(value: number): string {
  return value < 100 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value))
}

/** A duration as the log writes it: `91101ms` becomes `1 min 31 s`; anything else is unchanged. */
export function durationText(written: string): string {
  const [, digits] = /^(\d+)ms$/.exec(written) ?? []
  if (digits === undefined) return written
  const ms = Number(digits)
  if (ms < MINUTE) return ms < SECOND ? `${ms} ms` : latencyText(ms)
  return ms < HOUR ? twoParts(ms, [MINUTE, 'min'], [SECOND, 's']) : spanText(ms)
}

/** From milliseconds: `0.4 ms`, `12 ms`, `1.32 s`, `92 s` */
export function latencyText(ms: number): string {
  if (ms >= 10_000) return `${Math.round(ms / 1_000)} s`
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(2)} s`
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`
}

/** From a share of 0 to 1: `0 %`, `0.4 %`, `31 %` */
export function shareText(share: number): string {
  const percent = share * 100
  if (percent === 0) return '0 %'
  if (percent < 0.1) return '< 0.1 %'
  return `${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`
}

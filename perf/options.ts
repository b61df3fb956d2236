// The command line of `npm run perf`.
import { parseArgs } from 'node:util'

export const MEASURES = [
  'small',
  'wrk',
  'rate',
  'sse',
  'open',
  'open-first',
  'down',
  'up',
  'bulk-down',
  'bulk-up',
  'idle',
  'idle-many',
  'h2c',
  'h2-tls',
  'h2-up',
  'mcp-busy',
  'mcp-one',
  'mcp-new',
  'auth-route',
  'auth-mcp',
  'llm-sse',
  'llm-small',
  'llm-ttfb',
  'limits-check',
  'limits-keys',
  'ui-open',
  'start',
  'workers',
] as const
const QUICK_MEASURES = MEASURES.filter((name) => name !== 'wrk' && name !== 'idle-many')
export type MeasureName = (typeof MEASURES)[number]

export type Options = {
  only: readonly MeasureName[]
  rounds: number
  seconds: number
  /** How long the stalled reader stalls, and how long idle streams rest before memory is measured. */
  stallSeconds: number
  settleSeconds: number
  install: boolean
  write: boolean
  gatewayCommand: readonly string[] | undefined
}

export const USAGE = `npm run perf -- [options]
  --only a,b         measure only these: ${MEASURES.join(', ')}; mcp, auth, llm, limits, bulk, h2 and ui mean all of theirs
  --rounds n         interleaved rounds per measure (5; quick 1)
  --seconds s        measured seconds per round (1.5; quick 0.6)
  --quick            one short round of everything but wrk: for a look, not for RESULTS.md
  --install          try apt-get for nginx, haproxy and wrk where they are missing
  --gateway-cmd c    start the gateway with this command; "-f <config>" is added
A run with --only or --quick prints its table and does not write RESULTS.md; --write overrides that.`

export function parseOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      install: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      'gateway-cmd': { type: 'string' },
    },
  })
  const { quick } = values
  return {
    only: values.only?.split(',').flatMap(measureNames) ?? (quick ? QUICK_MEASURES : MEASURES),
    rounds: Math.ceil(positive('--rounds', values.rounds ?? (quick ? '1' : '5'))),
    seconds: positive('--seconds', values.seconds ?? (quick ? '0.6' : '1.5')),
    stallSeconds: quick ? 1 : 2,
    settleSeconds: quick ? 1 : 5.5,
    install: values.install,
    write: values.write || (!quick && values.only === undefined),
    gatewayCommand: values['gateway-cmd']?.split(' ').filter((word) => word !== ''),
  }
}

/** One measure, or a group by its first word. */
function measureNames(text: string): MeasureName[] {
  const names = MEASURES.filter((name) => name === text || name.startsWith(`${text}-`))
  if (names.length === 0) throw new Error(`--only: unknown measure "${text}"`)
  return names
}

function positive(option: string, text: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`${option}: "${text}" is not a positive number`)
  return value
}

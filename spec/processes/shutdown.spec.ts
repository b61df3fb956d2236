import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { GracefulShutdown } from '../../lib/processes/shutdown.ts'
import { deadline } from '../support/deadline.ts'
import { Ear } from '../support/gateway.ts'
import type { Line } from '../support/gateway.ts'

const test = suite('process/ending')

async function ended(stop: () => Promise<void>): Promise<{ code: number; lines: Line[] }> {
  const lines: Line[] = []
  const exited = new Promise<number>((exit) => {
    const ending = new GracefulShutdown({ log: new Ear((line) => lines.push(line)), stop, exit })
    ending.begin('SIGTERM')
    ending.begin('SIGTERM')
  })
  return { code: await deadline(exited, 30_000, 'the end'), lines }
}

test('ends once with 0 when all has stopped', async () => {
  const { code, lines } = await ended(() => Promise.resolve())
  assert.is(code, 0)
  assert.equal(
    lines.map(({ message }) => message),
    ['shutting down', 'stopped'],
  )
})

test('exits with 1 and logs the cause when the shutdown fails', async () => {
  const { code, lines } = await ended(() => Promise.reject(new Error('stuck')))
  assert.is(code, 1)
  assert.match(String(lines.at(-1)?.['cause']), /stuck/)
})

/** One whose stop never ends: the codes it has exited with so far. */
function endless(): { ending: GracefulShutdown; codes: number[] } {
  const codes: number[] = []
  const exit = (code: number): void => void codes.push(code)
  const stop = (): Promise<void> => new Promise(() => {})
  return { ending: new GracefulShutdown({ log: new Ear(() => {}), stop, exit }), codes }
}

test('a first signal lets what runs finish, a second one ends at once', () => {
  const { ending, codes } = endless()
  ending.receiveSignal('SIGTERM')
  assert.is(ending.state, 'stopping')
  assert.equal(codes, [])
  ending.receiveSignal('SIGINT')
  assert.equal(codes, [0])
})

test('a first signal cuts nothing when something else has begun the end', () => {
  const { ending, codes } = endless()
  ending.begin('/quitquitquit')
  ending.receiveSignal('SIGTERM')
  assert.equal(codes, [])
  ending.receiveSignal('SIGTERM')
  assert.equal(codes, [0])
})

test.run()

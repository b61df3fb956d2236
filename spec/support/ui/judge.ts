// A suite of tests in a real browser: one gateway and one browser for the suite, one visit for each test. Without a
// Chromium it reports the skip.

import type { BrowserContextOptions } from 'playwright-core'
import { suite } from 'uvu'
import { Chromium, findChromium } from '../browser.ts'
import { deadline } from '../deadline.ts'
import { Visit } from './visit.ts'
import { reportSkip } from '../report-skip.ts'

const TEST_MS = 60_000

/** Site isolation and software graphics take a fifth of the time and change nothing here. */
const CHEAP = ['--disable-site-isolation-trials', '--disable-gpu', '--disable-software-rasterizer']

/** The gateway under test. */
export interface World {
  /** Where `/ui` is. */
  readonly origin: string
  close(): Promise<void>
}

export interface Seat<W extends World> {
  readonly world: W
  readonly visit: Visit
  /** Another visit, with other credentials or at another address. */
  readonly enter: (options: BrowserContextOptions, origin?: string) => Promise<Visit>
}

type Act<W extends World> = (seat: Seat<W>) => Promise<void>

export interface Judge<W extends World> {
  (name: string, act: Act<W>): void
  run(): void
}

interface Started<W extends World> {
  readonly world: W
  readonly chromium: Chromium
}

export function judgeOf<W extends World>(name: string, start: () => Promise<W>): Judge<W> {
  const tests = suite(name)
  const found = findChromium()
  if (found.kind === 'missing') reportSkip(name, found.why)
  let starting: Promise<Started<W>> | undefined
  const begin = async (path: string): Promise<Started<W>> => {
    const world = await start()
    return { world, chromium: await Chromium.start(path, CHEAP) }
  }
  tests.after(async () => {
    const all = await starting?.catch(() => null)
    await all?.chromium.close()
    await all?.world.close()
  })
  const add = (sentence: string, act: Act<W>): void => {
    if (found.kind === 'missing') return
    tests(sentence, async () => {
      // Awaited in each test, so that each fails with the reason if the start fails.
      const { world, chromium } = await (starting ??= begin(found.path))
      await deadline(visited(chromium, world, act), TEST_MS, sentence)
    })
  }
  return Object.assign(add, { run: () => tests.run() })
}

async function visited<W extends World>(chromium: Chromium, world: W, act: Act<W>): Promise<void> {
  const page = await chromium.page()
  const visits: Visit[] = []
  const enter = async (options: BrowserContextOptions, origin = world.origin): Promise<Visit> => {
    const context = await page.context().browser()!.newContext(options)
    const visit = await Visit.begin(await context.newPage(), origin)
    visits.push(visit)
    return visit
  }
  try {
    const visit = await Visit.begin(page, world.origin)
    visits.push(visit)
    await act({ world, visit, enter })
    for (const one of visits) {
      one.assertCalm()
      // Leaves the page, so that it releases its streams and sessions.
      await one.page.goto('about:blank')
    }
  } finally {
    for (const one of visits) await one.page.context().close()
  }
}

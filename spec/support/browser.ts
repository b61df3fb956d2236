// A real browser for specs: a Chromium of this machine, driven by playwright-core, which brings none of its own. Where
// there is none, the line to print says so and how to have one.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import type { Browser, Page } from 'playwright-core'
import { deadline } from './deadline.ts'

/** `off` does without; a path takes that one. */
const SWITCH = 'GATEWAY_CHROMIUM'

/** Tried in this order: the one without a window is the smallest, and starts fastest. */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
]

const START_MS = 30_000
const STEP_MS = 30_000

export type FoundChromium =
  | { readonly kind: 'found'; readonly path: string }
  | { readonly kind: 'missing'; readonly why: string }

type Environment = Readonly<Record<string, string | undefined>>

/** Throws where one is named that does not run: whoever names one wants it. */
export function findChromium(env: Environment = process.env): FoundChromium {
  const named = env[SWITCH] ?? ''
  if (named === 'off') return { kind: 'missing', why: `${SWITCH} is off` }
  if (named !== '') {
    if (!runs(named)) throw new Error(`${SWITCH} names ${named}, which does not run`)
    return { kind: 'found', path: named }
  }
  const folders = (env['PATH'] ?? '').split(':').filter((folder) => folder !== '')
  const path = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(runs)
  if (path !== undefined) return { kind: 'found', path }
  const how = `put ${NAMES[0]!} or another on the PATH, or name it in ${SWITCH}`
  return { kind: 'missing', why: `no Chromium (${how})` }
}

/** Some systems have the name, and behind it only the word that it is to be installed. */
function runs(path: string): boolean {
  return spawnSync(path, ['--version'], { timeout: STEP_MS, stdio: 'ignore' }).status === 0
}

export class Chromium {
  readonly #browser: Browser

  private constructor(browser: Browser) {
    this.#browser = browser
  }

  static async start(path: string, args: readonly string[] = []): Promise<Chromium> {
    const browser = chromium.launch({
      executablePath: path,
      // It cannot make its sandbox as root, or in a container; all it visits here is ours.
      args: ['--no-sandbox', ...args],
      timeout: START_MS,
    })
    return new Chromium(await deadline(browser, START_MS, `${path} to start`))
  }

  /** A new one with nothing in it: no cookies, no cache, no storage. All it does has a deadline. */
  async page(): Promise<Page> {
    const page = await deadline(this.#browser.newPage(), STEP_MS, 'a new page')
    page.setDefaultTimeout(STEP_MS)
    page.setDefaultNavigationTimeout(STEP_MS)
    return page
  }

  /** Ends it, with all its pages. */
  async close(): Promise<void> {
    await deadline(this.#browser.close(), STEP_MS, 'the browser to end')
  }
}

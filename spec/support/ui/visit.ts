// One visit of a browser to the page. It records what must never happen: an error in the console, a violation of the
// content security policy, a dialog, a request to another host.

import type { Locator, Page } from 'playwright-core'
import * as assert from 'uvu/assert'
import { deadline } from '../deadline.ts'
import { until } from '../idp/until.ts'

const WAIT_MS = 30_000
const STEP_MS = 30_000
const MOST_TABS = 80
/** Length of the page text in an error. */
const MOST_TOLD = 2_000

/** The console reports a violation anyway; this names what was blocked. */
const NOTE_BREACHES = `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
  console.error('CSP', violatedDirective, blockedURI, sample))`

export class Visit {
  readonly page: Page
  readonly origin: string
  readonly #complaints: string[] = []
  readonly #expected: RegExp[] = []

  private constructor(page: Page, origin: string) {
    this.page = page
    this.origin = origin
  }

  static async begin(page: Page, origin: string): Promise<Visit> {
    const visit = new Visit(page, origin)
    page.setDefaultTimeout(STEP_MS)
    page.setDefaultNavigationTimeout(STEP_MS)
    await page.addInitScript(NOTE_BREACHES)
    visit.watch(page)
    return visit
  }

  /** Also watches a window that the page opened. */
  watch(page: Page, others: readonly string[] = []): void {
    const note = (what: string): unknown => this.#complaints.push(what)
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning')
        note(`console: ${message.text()} ${message.location().url}`)
    })
    page.on('pageerror', (error) => note(`thrown: ${error.message}`))
    page.on('dialog', (dialog) => {
      note(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    const isKnown = (url: string): boolean =>
      [this.origin, ...others].includes(new URL(url).origin) || /^(?:data|blob|about):/.test(url)
    page.on('request', (request) => {
      if (!isKnown(request.url())) note(`request to another host: ${request.url()}`)
    })
    page.on('websocket', (socket) => note(`websocket: ${socket.url()}`))
  }

  /** `path` is the part after the `#`: 'map'. The page is loaded again. */
  async open(path = ''): Promise<void> {
    // Where only the hash differs, nothing is loaded.
    const isThere = this.page.url().startsWith(`${this.origin}/ui`)
    await this.page.goto(`${this.origin}/ui#/${path}`)
    if (isThere) await this.page.reload()
    await this.page.locator('main h1').waitFor()
  }

  /** Navigates from one page to another, as a link does. */
  async follow(path: string): Promise<void> {
    await this.page.goto(`${this.origin}/ui#/${path}`)
  }

  /** Waits until one of the elements has the text. */
  async sees(where: string | Locator, what: RegExp | string): Promise<void> {
    const found = typeof where === 'string' ? this.page.locator(where) : where
    const fits = (texts: readonly string[]): boolean =>
      texts.some((text) => (typeof what === 'string' ? text.includes(what) : what.test(text)))
    await until(() => deadline(found.allInnerTexts(), WAIT_MS, String(what)), fits, WAIT_MS).catch(
      (error: Error) => {
        throw new Error(
          `${String(what)} is not visible in ${String(where)}: ${error.message.slice(0, MOST_TOLD)}`,
        )
      },
    )
  }

  /** Evaluates a script in the page: `document.title`. */
  async asks<T>(script: string): Promise<T> {
    return deadline(this.page.evaluate<T>(script), WAIT_MS, script.slice(0, 100))
  }

  /** Moves the focus there by the Tab key. */
  async tabTo(target: Locator): Promise<void> {
    const focused = target.and(this.page.locator(':focus'))
    for (let count = 0; count < MOST_TABS; count++) {
      if ((await focused.count()) > 0) return
      await this.page.keyboard.press('Tab')
    }
    throw new Error(`Tab pressed ${MOST_TABS} times does not reach ${String(target)}`)
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key)
  }

  /** Problems that match are expected. */
  expect(complaint: RegExp): void {
    this.#expected.push(complaint)
  }

  assertCalm(): void {
    const left = this.#complaints.filter((one) => !this.#expected.some((what) => what.test(one)))
    assert.equal(left, [])
  }
}

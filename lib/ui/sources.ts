// Where the page's server has its data from: one function for each part of the read API.

import type { ConfigView, LimitsView, Logs, MapView, McpView, Place, Runtime } from './api.ts'
import type { Answer, Ask } from './ask.ts'

/** Made anew for each question, so cheap and bounded. `place` is where it was asked. */
export type Read<T> = (ask: Ask, place: Place) => T

/** What a question leads to when its answer is not simply data; see `problem` of answers.ts for what is refused. */
export type Tell = (ask: Ask, place: Place) => Answer

export interface UiSources {
  readonly runtime: Read<Runtime>
  readonly map: Read<MapView>
  readonly limits: Read<LimitsView>
  readonly logs: Read<Logs>
  readonly mcp: Read<McpView>
  readonly config: Read<ConfigView>
  readonly trace: Tell
  readonly live: Tell
}

// A writer of an event stream whose reader reads nothing until `drain`.

import { EventEmitter } from 'node:events'
import type { EventWriter } from '../../lib/text/sse-output.ts'

export class StalledWriter extends EventEmitter implements EventWriter {
  readonly written: string[] = []
  isFull = true
  state: 'open' | 'ended' | 'destroyed' = 'open'

  get text(): string {
    return this.written.join('')
  }

  write(text: string): void {
    this.written.push(text)
  }

  onDrain(act: () => void): void {
    this.on('drain', act)
  }

  end(): void {
    this.state = 'ended'
  }

  destroy(): void {
    this.state = 'destroyed'
    this.emit('close')
  }

  /** The reader starts to read. */
  drain(): void {
    this.isFull = false
    this.emit('drain')
  }
}

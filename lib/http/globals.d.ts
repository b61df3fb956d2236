// Members of Node that its types for version 20 leave out.

interface Buffer {
  latin1Slice(from?: number, to?: number): string
}

declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Memory {
    readonly buffer: ArrayBuffer
  }
  class Instance {
    constructor(module: Module, imports?: Record<string, Record<string, unknown>>)
    readonly exports: unknown
  }
}

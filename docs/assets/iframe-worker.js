// Browsers start no workers from files, and the search of this documentation is one. Here it runs in a hidden frame, so
// that the pages can be opened without a server. The theme's own worker knows frames by the name IFrameWorker.
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.title = "search"
      this.frame.srcdoc = `<script>
        self.importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, failed) => {
          const script = document.body.appendChild(document.createElement("script"))
          script.src = url
          script.onload = done
          script.onerror = failed
        })), Promise.resolve())
        self.postMessage = data => parent.dispatchEvent(new CustomEvent("from-frame", { detail: data }))
      </script><body><script src="${url}"></script></body>`
      this.frame.onload = () => {
        this.isReady = true
        this.waiting.splice(0).forEach(data => this.postMessage(data))
      }
      addEventListener("from-frame", event => this.dispatchEvent(new MessageEvent("message", { data: event.detail })))
      document.body.appendChild(this.frame)
    }

    postMessage(data) {
      if (this.isReady) this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }))
      else this.waiting.push(data)
    }

    terminate() {
      this.frame.remove()
    }
  }
  window.IFrameWorker = window.Worker = IFrameWorker
}

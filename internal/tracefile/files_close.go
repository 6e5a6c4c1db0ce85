package tracefile

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Close closes every file and gives up the lock, as Appender.Close does. It returns the first error.
func (f *Files) Close(ctx context.Context) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	var all []*openFile
	for _, file := range f.files {
		all = append(all, file)
	}
	f.mu.Unlock()
	f.close()

	var errs []error
	if f.alone != nil {
		errs = append(errs, f.alone.Close(ctx))
	}
	for _, file := range all {
		errs = append(errs, f.closeFile(ctx, file))
	}
	ended := make(chan error, 1)
	go func() {
		f.tasks.Wait()
		for _, file := range all {
			<-file.gone
		}
		var err error
		if f.syncsTogether() {
			err = f.syncAll()
		}
		// Only a lock that nobody writes under anymore may go to the next writer.
		if f.rootDir != nil {
			_ = f.rootDir.Close() // it was only read
		}
		if f.lock != nil {
			f.lock.release()
		}
		if f.owner != nil {
			f.owner.release()
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		errs = append(errs, err)
	case <-ctx.Done():
		errs = append(errs, ctx.Err())
	case <-time.After(f.opts.WriteTimeout):
		errs = append(errs, fmt.Errorf("%s: closing it: %w", f.root, ErrHanging))
	}
	return cmp.Or(errs...)
}

func (f *Files) closeFile(ctx context.Context, file *openFile) error {
	select {
	case <-file.ready:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(f.opts.WriteTimeout):
		return fmt.Errorf("%s: opening it: %w", file.path, ErrHanging)
	}
	if file.err != nil {
		return nil // it was told
	}
	f.mu.Lock()
	if !file.closing {
		f.startClosing(file)
	}
	f.mu.Unlock()
	return file.app.Close(ctx)
}
